import { performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { describeSqlite, PASSWORD } from '../../testing/index.ts';
import { type AccountsWorld, type AccountsWorldOptions, openAccountsWorld } from '../testing/world.ts';
import { HASH_COST } from './password-hasher.ts';

const PAIRS = process.env.FOOTLIGHT_LONG === '1' ? 200 : 15;
/** Without a leak, about one round in a hundred has a smaller p-value by chance; with a leak, every round has one. */
const SIGNIFICANT = 0.01;
const ROUNDS = 3;

describeSqlite('the time that a failed login takes', (databases) => {
  async function withAlice(
    limits: NonNullable<AccountsWorldOptions['limits']>,
    work: (world: AccountsWorld) => Promise<void>,
  ): Promise<void> {
    const world = await openAccountsWorld(await databases.fresh(), {
      env: { REGISTRATION_MODE: 'open' },
      limits: {
        signIn: { capacity: 10_000, refillEveryMs: 1 },
        failedLogins: { capacity: 10_000, refillEveryMs: 1 },
        ...limits,
      },
    });
    try {
      await world.register('alice');
      await work(world);
    } finally {
      await world.close();
    }
  }

  async function timeOf(world: AccountsWorld, email: string): Promise<number> {
    const startedMs = performance.now();
    const answer = await world.call('POST', '/v1/auth/login', { body: { email, password: `${PASSWORD}?` } });
    const tookMs = performance.now() - startedMs;
    expect(answer.json().error.code).toBe('invalid_credentials');
    return tookMs;
  }

  /** The probability (p-value) of the measured times if both kinds of address are answered equally fast. */
  async function likeness(world: AccountsWorld, pairs: number): Promise<number> {
    const known: number[] = [];
    const unknown: number[] = [];
    for (let pair = 0; pair < pairs; pair += 1) {
      // Alternates both kinds of address in both orders, so that other load of the machine affects both equally.
      const turns = [
        async () => known.push(await timeOf(world, 'alice@example.org')),
        async () => unknown.push(await timeOf(world, `nobody-${pair}@example.org`)),
      ];
      for (const turn of pair % 2 === 0 ? turns : turns.reverse()) await turn();
    }
    return mannWhitney(known, unknown);
  }

  test('does not reveal whether the account exists', { timeout: 1_200_000 }, () =>
    withAlice({ hashCost: HASH_COST }, async (world) => {
      const seen: number[] = [];
      while (seen.length < ROUNDS && !seen.some((p) => p > SIGNIFICANT))
        seen.push(await likeness(world, PAIRS));
      expect(Math.max(...seen)).toBeGreaterThan(SIGNIFICANT);
    }),
  );

  test('would reveal it, if one of the two paths cost less', () =>
    // In this test the stored hash is cheap but the dummy hash for unknown accounts is expensive, so the times must
    // differ.
    withAlice({}, async (world) => {
      expect(await likeness(world, 8)).toBeLessThan(SIGNIFICANT);
    }));
});

/**
 * Two-sided p of the Mann-Whitney U test: the probability of such a difference of ranks between samples of the same
 * source. Normal approximation with continuity correction; ties do not occur among measured times.
 */
function mannWhitney(a: readonly number[], b: readonly number[]): number {
  const ranked = [
    ...a.map((value) => ({ value, mine: true })),
    ...b.map((value) => ({ value, mine: false })),
  ];
  ranked.sort((left, right) => left.value - right.value);
  let rankSum = 0;
  for (const [index, { mine }] of ranked.entries()) if (mine) rankSum += index + 1;
  const u = rankSum - (a.length * (a.length + 1)) / 2;
  const mean = (a.length * b.length) / 2;
  const deviation = Math.sqrt((a.length * b.length * (a.length + b.length + 1)) / 12);
  const z = Math.max(0, Math.abs(u - mean) - 0.5) / deviation;
  return 2 * (1 - standardNormal(z));
}

/** Distribution function of the standard normal. Source: Abramowitz and Stegun, 7.1.26; error below 1.5e-7. */
function standardNormal(z: number): number {
  const x = z / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * x);
  const series =
    t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return 1 - 0.5 * series * Math.exp(-x * x);
}
