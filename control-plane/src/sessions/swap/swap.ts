/**
 * POST /v1/sessions/{id}/swap: the checks in their fixed order, in one transaction with the owner's row locked, as in
 * a launch. The transaction stores the pending swap; the command to the host follows after the answer.
 */
import type { AppSpec } from '@footlight/protocol/agent';
import { type Tx, transactionLookedUp } from '../../platform/database/index.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Settings } from '../../settings/index.ts';
import { claimHome, hasHome } from '../../storage/index.ts';
import { mergeRuntime, withHome } from '../app-spec.ts';
import { holdEntitlement, loadLaunchApp, lockUser } from '../launch/launch-store.ts';
import type { SessionRow } from '../record.ts';
import { beginSwap, loadHostHomeRoot, loadQuotaSessions, loadSession } from '../store.ts';

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
    const session = await lockedSession(tx, sessionId);
    const { row, hostId } = session;
    const app = await loadLaunchApp(tx, appId);
    if (app === null || !app.enabled) throw new ApiError('not_found', { message: 'There is no such app.' });
    const parent = app.parent_app_id === null ? null : await loadLaunchApp(tx, app.parent_app_id);
    if (parent !== null && !parent.enabled)
      throw new ApiError('parent_app_disabled', {
        message: `${parent.name} is disabled, and this app needs it.`,
      });
    if (!(await holdEntitlement(tx, row.user_id, app.id)))
      throw new ApiError('forbidden', { message: 'The owner of the session is not entitled to this app.' });

    const owner = parent ?? app;
    // A local session is not encoded, with any app.
    const demanded = row.video_topology === 'local_only' ? 0 : owner.default_encode_slots;
    if (demanded > row.encode_slots)
      throw new ApiError('swap_exceeds_reservation', {
        message: `That app needs ${demanded} encode slots, and this session has reserved ${row.encode_slots}.`,
      });
    const tile = parent === null ? null : { source: app.external_source, external_id: app.external_id };
    const runtime = mergeRuntime(owner, owner.preset, tile, app.name);
    const homeAppId = runtime?.managed_home === true ? owner.id : null;
    if (homeAppId !== null) {
      const others = (await loadQuotaSessions(tx, row.user_id)).filter(({ id }) => id !== row.id);
      const holder = others.find(({ home_app_ids }) => home_app_ids.includes(homeAppId));
      if (holder !== undefined) throw new ApiError('home_in_use', { session_id: holder.id });
      if (parent !== null && !(await hasHome(tx, { userId: row.user_id, appId: parent.id, hostId })))
        throw new ApiError('home_not_provisioned', {
          message: `This app lives in the home of ${parent.name}, and there is none on the host of this session.`,
        });
    }
    if (runtime === null)
      throw new ApiError('conflict', { message: 'The network of this app is not one that apps may use.' });

    const nowMs = platform.clock.nowMs();
    const home =
      homeAppId === null
        ? null
        : await claimHome(
            tx,
            platform.random,
            {
              owner: {
                userId: row.user_id,
                username: session.username,
                appId: homeAppId,
                appName: owner.name,
              },
              hostId,
              homeRoot: await loadHostHomeRoot(tx, hostId),
              provider: homeProvider,
            },
            nowMs,
          );
    if (homeAppId !== null && home === null)
      throw new ApiError('internal', { message: 'No place for the home of this app can be formed.' });
    if (home?.provider === 'volume' && runtime.runtime === 'process')
      throw new ApiError('conflict', {
        message: 'Homes are engine volumes here, and this app runs without an engine.',
      });
    if (!(await beginSwap(tx, row.id, { app_id: app.id, home_app_id: homeAppId }, nowMs)))
      throw notSwappable('The session has changed meanwhile.');
    return {
      row: (await loadSession(tx, row.id)) as SessionRow,
      hostId,
      target: { app_id: app.id, app: withHome(runtime, home) },
    };
  };
  return transactionLookedUp(platform, begin, async (tx, { row, target }) => {
    await lockUser(tx, row.user_id);
    const stored = await loadSession(tx, row.id);
    return stored?.swap_state === 'asked' && stored.swap_app_id === target.app_id;
  });
}

/**
 * Loads the session with the owner's row locked, so that no launch of the owner takes a home between check and
 * commit.
 * @throws ApiError 409
 */
async function lockedSession(
  tx: Tx,
  id: string,
): Promise<{ row: SessionRow; hostId: string; username: string }> {
  const seen = await loadSession(tx, id);
  const user = seen && (await lockUser(tx, seen.user_id));
  // Read again after the wait for the lock.
  const row = user && (await loadSession(tx, id));
  if (row === undefined || row.state !== 'running' || row.host_id === null)
    throw notSwappable('The session does not run.');
  if (row.swap_state !== null) throw notSwappable('The session is changing its app already.');
  return { row, hostId: row.host_id, username: user?.username ?? '' };
}

const notSwappable = (message: string): ApiError => new ApiError('session_not_swappable', { message });
