import { randomInt } from 'node:crypto';
import type { Random } from '@footlight/platform';
import { seededRandom } from '@footlight/platform/testing';

/** Seed of a run's random choices. FOOTLIGHT_SEED repeats the choices of a failed run, but not their timing. */
const SEED = Number(process.env.FOOTLIGHT_SEED ?? randomInt(2 ** 32));

/** Text that a failed assertion shows. */
export const SEED_HINT = `repeat with FOOTLIGHT_SEED=${SEED}`;

export const testRandom = (): Random => seededRandom(SEED);

/** Chooses one of these at random. */
export const choose = <T>(random: Random, all: readonly T[]): T =>
  all[Math.floor(random.number() * all.length)] as T;
