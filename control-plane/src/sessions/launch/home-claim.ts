/** Checks and claims the home that a launch uses on its host. */

import type { Random } from '@footlight/platform';
import type { HomeSpec } from '@footlight/protocol/agent';
import type { Executor, Tx } from '../../platform/database/index.ts';
import { claimHome, type HomeClaim, previewHome } from '../../storage/index.ts';
import type { GpuFacts } from '../placement/placement.ts';
import { homeAppOf, refuseHomeProvider } from './admission.ts';
import type { Refusal } from './refusal.ts';
import type { AdmittedLaunch } from './stages.ts';

export type TakenHome = Pick<HomeSpec, 'provider' | 'ref'>;

/** @returns null: the launch needs no home, or the home can be used */
export async function refuseHome(
  db: Executor,
  username: string,
  launch: AdmittedLaunch,
  gpu: GpuFacts,
): Promise<Refusal | null> {
  const claim = homeClaim(username, launch, gpu);
  return claim === null ? null : refuseHomeProvider(await previewHome(db, claim), launch.runtime);
}

/**
 * Claims the home of a launch that `refuseHome` accepted in this transaction.
 * @returns null: the launch has no home
 */
export async function takeHome(
  tx: Tx,
  random: Random,
  username: string,
  launch: AdmittedLaunch,
  gpu: GpuFacts,
  nowMs: number,
): Promise<TakenHome | null> {
  const claim = homeClaim(username, launch, gpu);
  if (claim === null) return null;
  const home = await claimHome(tx, random, claim, nowMs);
  if (home === null) throw new Error('the place of a home went away while a launch took it');
  return home;
}

function homeClaim(username: string, launch: AdmittedLaunch, gpu: GpuFacts): HomeClaim | null {
  const appId = homeAppOf(launch);
  if (appId === null) return null;
  return {
    owner: { userId: launch.user.userId, username, appId, appName: launch.owner.name },
    hostId: gpu.host.host_id,
    homeRoot: gpu.host.home_root,
    provider: launch.homeProvider,
  };
}
