/** Reads and writes the columns of a session's pending swap. */
import type { Executor, Tx } from '../../platform/database/index.ts';
import { SWAP_DETAIL, type SwapStep } from './swap-rules.ts';

/** Stores a swap if the session runs without another swap. @returns whether it was stored */
export async function beginSwap(
  tx: Tx,
  id: string,
  target: { app_id: string; home_app_id: string | null },
  nowMs: number,
): Promise<boolean> {
  const result = await tx
    .updateTable('sessions')
    .set({
      swap_app_id: target.app_id,
      swap_home_app_id: target.home_app_id,
      swap_state: 'asked',
      state_detail: SWAP_DETAIL.swapping,
      updated_at: nowMs,
    })
    .where('id', '=', id)
    .where('state', '=', 'running')
    .where('swap_state', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Stores that the agent acknowledged the swap, unless the swap has already ended. */
export async function markSwapTaken(db: Executor, id: string, appId: string): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ swap_state: 'taken' })
    .where('id', '=', id)
    .where('swap_app_id', '=', appId)
    .where('swap_state', '=', 'asked')
    .execute();
}

/** Stores the result of a pending swap. @returns whether a swap was pending */
export async function settleSwap(tx: Tx, id: string, step: SwapStep, nowMs: number): Promise<boolean> {
  const result = await tx
    .updateTable('sessions')
    .set({
      ...(step.app !== null && { app_id: step.app.app_id, home_app_id: step.app.home_app_id }),
      ...(!step.may_complete && { swap_app_id: null, swap_home_app_id: null }),
      swap_state: null,
      state_detail: step.state_detail,
      updated_at: nowMs,
    })
    .where('id', '=', id)
    .where('state', '=', 'running')
    .where('swap_app_id', '=', step.target)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}
