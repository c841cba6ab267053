import { randomInt } from 'node:crypto';
import type { Random } from '@footlight/platform';
import { seededRandom } from '@footlight/platform/testing';

/** Seed of a run's random choices. FOOTLIGHT_SEED repeats those of a run that failed; it does not repeat their timing. */
const SEED = Number(process.env.FOOTLIGHT_SEED ?? randomInt(2 ** 32));

/** Shown by an assertion that fails. */
export const SEED_HINT = `repeat with FOOTLIGHT_SEED=${SEED}`;

export const testRandom = (): Random => seededRandom(SEED);

/** One of these. */
export const choose = <T>(random: Random, all: readonly T[]): T =>
  all[Math.floor(random.number() * all.length)] as T;
