import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FakeAgent, startPostgres } from '@footlight/test-harness';
import { describe, expect, test } from 'vitest';
import { openSessionsWorld, type SessionsWorld, slots } from '../sessions/testing/world.ts';
import { startOwnProcess } from '../testing/own-process.ts';
import { SEED_HINT, testRandom } from '../testing/seed.ts';

const STARTS = process.env.FOOTLIGHT_LONG === '1' ? 50 : 3;
const TOGETHER = 3;
const HOSTS = 12;

describe('control planes that start together on one Postgres', () => {
  test(
    'on an empty one, then next to one that serves launches: each comes up, and no deadlock is logged',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'footlight-together-'));
      const server = await startPostgres();
      try {
        const { url } = await server.createDatabase();
        await startTogether(folder, url);
        const world = await openSessionsWorld({ dialect: 'postgres', url });
        try {
          const service = await serveLaunches(world);
          try {
            for (let n = 1; n < STARTS; n++) await startTogether(folder, url);
          } finally {
            await service.end();
          }
          expect(service.failures, SEED_HINT).toEqual([]);
          expect(service.launched).toBeGreaterThan(0);
        } finally {
          await world.close();
        }
      } finally {
        rmSync(folder, { recursive: true, force: true });
        // `stop` throws with the statements of each deadlock.
        await server.stop();
      }
    },
    60_000 + STARTS * 20_000,
  );
});

/** @throws with the log of a control plane that does not start */
async function startTogether(folder: string, url: string): Promise<void> {
  const started = await Promise.allSettled(
    Array.from({ length: TOGETHER }, (_, n) =>
      startOwnProcess(join(folder, String(n)), { env: { DATABASE_URL: url } }),
    ),
  );
  await Promise.all(started.map((one) => one.status === 'fulfilled' && one.value.end('SIGTERM')));
  expect(started.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []))).toEqual([]);
}

interface LaunchService {
  /** Number of accepted launches. */
  readonly launched: number;
  /** Answers that no launch should get. */
  readonly failures: readonly string[];
  end(): Promise<void>;
}

/**
 * People launch and stop sessions one after another, and agents reconnect, because each start marks their hosts as
 * offline.
 */
async function serveLaunches(world: SessionsWorld): Promise<LaunchService> {
  const agents: FakeAgent[] = [];
  for (let n = 0; n < HOSTS; n++) agents.push(await world.host(`host-${n}`, slots(2)));
  const app = await world.app();
  const people = await Promise.all([0, 1, 2].map((n) => world.addPerson(`person-${n}`)));
  const random = testRandom();
  let goesOn = true;
  let launched = 0;
  const failures: string[] = [];
  async function repeat(step: () => Promise<unknown>): Promise<void> {
    while (goesOn) {
      await step();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  const works = [
    ...people.map((person) =>
      repeat(async () => {
        const answer = await world.launch(person, app);
        if (answer.status === 201) {
          launched += 1;
          await world.call(person, 'DELETE', `/v1/sessions/${answer.body.session.id}`);
        } else if (answer.status >= 500 && answer.status !== 503) failures.push(answer.text);
      }),
    ),
    repeat(async () => {
      const shuffled = agents.toSorted(() => random.number() - 0.5);
      await Promise.all(
        shuffled.map(async (agent) => {
          await agent.drop();
          await agent.connect();
        }),
      );
      for (const agent of shuffled) agent.heartbeat();
      await world.clock.pass(1_000);
    }),
  ];
  return {
    get launched() {
      return launched;
    },
    failures,
    async end() {
      goesOn = false;
      await Promise.all(works);
    },
  };
}
