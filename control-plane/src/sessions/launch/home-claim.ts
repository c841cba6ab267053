/** The home that a launch uses on its host. */

import type { Random } from '@footlight/platform';
import type { HomeSpec } from '@footlight/protocol/agent';
import type { Executor, Tx } from '../../platform/database/index.ts';
import { claimHome, foreseeHome, type HomeClaim } from '../../storage/index.ts';
import type { GpuFacts } from '../placement/placement.ts';
import { type Admitted, homeAppOf, VOLUME_FOR_PROCESS } from './admission.ts';
import type { Refusal } from './refusal.ts';

export type TakenHome = Pick<HomeSpec, 'provider' | 'ref'>;

interface Owner {
  userId: string;
  username: string;
}

/** @returns null: no home needed, or the home is usable */
export async function refuseHome(
  db: Executor,
  owner: Owner,
  admitted: Admitted,
  gpu: GpuFacts,
): Promise<Refusal | null> {
  const claim = homeClaim(owner, admitted, gpu);
  return claim === null ? null : judge(await foreseeHome(db, claim), admitted);
}

/**
 * Claims the home of a launch that `refuseHome` accepted in this transaction.
 * @returns null: the launch has no home
 */
export async function takeHome(
  tx: Tx,
  random: Random,
  owner: Owner,
  admitted: Admitted,
  gpu: GpuFacts,
  nowMs: number,
): Promise<TakenHome | null> {
  const claim = homeClaim(owner, admitted, gpu);
  if (claim === null) return null;
  const home = await claimHome(tx, random, claim, nowMs);
  if (home === null) throw new Error('the place of a home went away while a launch took it');
  return home;
}

function homeClaim(owner: Owner, admitted: Admitted, gpu: GpuFacts): HomeClaim | null {
  const appId = homeAppOf(admitted);
  if (appId === null) return null;
  return {
    owner: { ...owner, appId, appName: admitted.owner.name },
    hostId: gpu.host.host_id,
    homeRoot: gpu.host.home_root,
    provider: admitted.homeProvider,
  };
}

/** @param provider of the existing or future home; null: no path for a home can be formed */
function judge(provider: HomeSpec['provider'] | null, { runtime }: Admitted): Refusal | null {
  if (provider === null)
    return { code: 'internal', message: 'No place for the home of this app can be formed.' };
  return provider === 'volume' && runtime.runtime === 'process' ? VOLUME_FOR_PROCESS : null;
}
