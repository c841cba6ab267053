/**
 * POST /v1/sessions/{id}/swap: the checks in their fixed order, in one transaction with the owner's row locked, as in
 * a launch. The transaction stores the pending swap; the command to the host follows after the answer.
 */
import type { AppSpec } from '@footlight/protocol/agent';
import { type Tx, verifiedTransaction } from '../../platform/database/index.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Settings } from '../../settings/index.ts';
import { claimHome, hasHome } from '../../storage/index.ts';
import { withHome } from '../app-spec.ts';
import { homeAppOf, refuseBase, refuseHomeProvider } from '../launch/admission.ts';
import { loadLaunchApp } from '../launch/app-store.ts';
import { lockEntitlementShared, lockUser } from '../launch/launch-store.ts';
import { loadHomeHolders } from '../launch/quota-store.ts';
import { type Refusal, type Refused, refusalError } from '../launch/refusal.ts';
import type { SessionRow } from '../record.ts';
import { loadHostHomeRoot, loadSession } from '../store.ts';
import { admitSession, admitSwap, notSwappable, refuseSwapHome } from './swap-rules.ts';
import { beginSwap } from './swap-store.ts';

export interface SwapBegun {
  row: SessionRow;
  hostId: string;
  target: { app_id: string; app: AppSpec };
}

/** @throws ApiError with the first refusal of the fixed order; nothing was changed */
export async function beginSwapTo(
  platform: Pick<Platform, 'clock' | 'database' | 'random'>,
  settings: Settings,
  sessionId: string,
  appId: string,
): Promise<SwapBegun> {
  const { storageProvider } = await settings.current();
  const homeProvider = storageProvider === 'volume' ? 'volume' : 'local';
  const begin = async (tx: Tx): Promise<SwapBegun> => {
    const { row, hostId, username } = await lockedSession(tx, sessionId);
    const requested = await loadLaunchApp(tx, appId);
    const parentId = requested?.parent_app_id ?? null;
    const target = accepted(
      admitSwap(row, {
        app: requested?.enabled ? requested : null,
        parent: parentId === null ? null : await loadLaunchApp(tx, parentId),
        entitled: await lockEntitlementShared(tx, row.user_id, appId),
      }),
    );
    const { app, owner, runtime } = target;
    const homeAppId = homeAppOf(target);
    const nowMs = platform.clock.nowMs();
    let home: Awaited<ReturnType<typeof claimHome>> = null;
    if (homeAppId !== null) {
      const holders = await loadHomeHolders(tx, [row.user_id], [homeAppId]);
      const others = holders.filter(({ id }) => id !== row.id);
      const exists = await hasHome(tx, { userId: row.user_id, appId: homeAppId, hostId });
      refuse(refuseSwapHome(target, others, exists));
      home = await claimHome(
        tx,
        platform.random,
        {
          owner: { userId: row.user_id, username, appId: homeAppId, appName: owner.name },
          hostId,
          homeRoot: await loadHostHomeRoot(tx, hostId),
          provider: homeProvider,
        },
        nowMs,
      );
      refuse(refuseHomeProvider(home?.provider ?? null, runtime));
    } else refuse(refuseBase(runtime));
    if (!(await beginSwap(tx, row.id, { app_id: app.id, home_app_id: homeAppId }, nowMs)))
      throw refusalError(notSwappable('The session has changed meanwhile.'));
    return {
      row: (await loadSession(tx, row.id)) as SessionRow,
      hostId,
      target: { app_id: app.id, app: withHome(runtime, home) },
    };
  };
  return verifiedTransaction(platform, begin, async (tx, { row, target }) => {
    await lockUser(tx, row.user_id);
    const stored = await loadSession(tx, row.id);
    return stored?.swap_state === 'asked' && stored.swap_app_id === target.app_id;
  });
}

/**
 * Loads the session with the owner's row locked, so that no launch of the owner can claim a home between check and
 * commit.
 * @throws ApiError 409
 */
async function lockedSession(tx: Tx, id: string) {
  const seen = await loadSession(tx, id);
  const user = seen && (await lockUser(tx, seen.user_id));
  // Read the session again, because it may have changed while waiting for the lock.
  const session = accepted(admitSession(user && (await loadSession(tx, id))));
  return { ...session, username: user?.username ?? '' };
}

/** @throws ApiError for a refusal */
function accepted<Outcome extends object>(outcome: Outcome | Refused): Outcome {
  if ('refusal' in outcome) throw refusalError(outcome.refusal);
  return outcome;
}

function refuse(refusal: Refusal | null): void {
  if (refusal !== null) throw refusalError(refusal);
}
