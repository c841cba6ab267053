import type { Random } from '@footlight/platform';
import type { HomeSpec } from '@footlight/protocol/agent';
import type { Executor, Tx } from '../platform/database/index.ts';
import { type HomeOwner, localHomeRef, volumeRef } from './refs.ts';
import { insertHome, isRefTaken, loadHome, touchHome } from './store.ts';

export interface HomeClaim {
  owner: HomeOwner;
  hostId: string;
  /** Directory of homes on the host; null only for volumes. */
  homeRoot: string | null;
  /** Provider of a new home; an existing home keeps its provider. */
  provider: 'local' | 'volume';
}

/**
 * Claims the home of a launch: the user's existing home on the host, or a new one. Runs in the launch transaction.
 * @returns null when no path for a new home can be built
 */
export async function claimHome(
  tx: Tx,
  random: Random,
  claim: HomeClaim,
  nowMs: number,
): Promise<Pick<HomeSpec, 'provider' | 'ref'> | null> {
  const { owner, hostId } = claim;
  const existing = await loadHome(tx, { userId: owner.userId, appId: owner.appId, hostId });
  // A host may confirm the deletion of the home after this read; the launch then creates a new home.
  if (existing !== undefined && (await touchHome(tx, existing.id, nowMs)))
    return { provider: existing.provider, ref: existing.ref };
  const id = random.uuid();
  const ref = claim.provider === 'volume' ? volumeRef(id) : await freeLocalRef(tx, claim);
  if (ref === null) return null;
  await insertHome(tx, {
    id,
    user_id: owner.userId,
    app_id: owner.appId,
    host_id: hostId,
    provider: claim.provider,
    ref,
    bytes_used: 0,
    created_at: nowMs,
    last_used_at: nowMs,
    gc_after: null,
  });
  return { provider: claim.provider, ref };
}

/**
 * Undoes a claim that created a home; the host has no folder for it yet. A home that existed before the claim stays.
 */
export async function dropNewHome(
  tx: Tx,
  place: { userId: string; appId: string; hostId: string },
  claimedAtMs: number,
): Promise<void> {
  const home = await loadHome(tx, place);
  if (home !== undefined && home.created_at === claimedAtMs)
    await tx.deleteFrom('storage_homes').where('id', '=', home.id).execute();
}

/**
 * Returns the provider that a claim would use, without claiming.
 * @returns null when no path for a new home can be built
 */
export async function previewHome(db: Executor, claim: HomeClaim): Promise<HomeSpec['provider'] | null> {
  const { userId, appId } = claim.owner;
  const existing = await loadHome(db, { userId, appId, hostId: claim.hostId });
  if (existing !== undefined) return existing.provider;
  return claim.provider === 'volume' || (await freeLocalRef(db, claim)) !== null ? claim.provider : null;
}

/** The short path, or the path with whole ids if another home uses the short one. */
async function freeLocalRef(db: Executor, claim: HomeClaim): Promise<string | null> {
  if (claim.homeRoot === null) return null;
  for (const whole of [false, true]) {
    const ref = localHomeRef(claim.homeRoot, claim.owner, whole);
    if (ref !== null && !(await isRefTaken(db, claim.hostId, ref))) return ref;
  }
  return null;
}
