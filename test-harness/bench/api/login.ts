/**
 * login: POST /v1/auth/login on an instance with 10,000 users, compared with bare verifications of the same hash at the
 * same concurrency. Each side runs on the first core, and the clients run on the second. Also compares the 99th
 * percentile of /health during logins with that of the idle service.
 */
import { createRequire } from 'node:module';
import { fetch } from 'undici';
import { alternate, exitStatus, judge, median, percentile, printVerdict, round2 } from '../rounds.ts';
import { startLargeInstance } from './large-instance.ts';
import { CORES, startLoad, startWorker } from './load.ts';

const PASSWORD = 'a-long-enough-pass-phrase';
/** Number of concurrent logins. It keeps every hashing core busy, and stays below the service's queue limit. */
const AT_ONCE = 16;
const EACH = 6;
const IDLE_MS = 5_000;
const HEALTH_EVERY_MS = 20;
const MARK = 0.95;
const HEALTH_MARK = 3;

/** argon2id with the service's cost parameters. */
const COST = { memoryCost: 65_536, timeCost: 3, parallelism: 2, outputLen: 32 };

/** @returns the exit status */
export async function benchLogin(rounds: number): Promise<number> {
  const require = createRequire(new URL('../../../control-plane/package.json', import.meta.url));
  const { hash } = require('@node-rs/argon2') as { hash(text: string, cost: object): Promise<string> };
  const stored = await hash(PASSWORD, COST);
  const instance = await startLargeInstance('sqlite', 1, stored);
  const bare = startWorker(CORES.server, 'test-harness/bench/api/bare-verify-main.ts', [stored, PASSWORD]);
  const load = startLoad();
  const health: Record<'idle' | 'busy', number[]> = { idle: [], busy: [] };
  // Each attempt has a different client address.
  let attempt = 0;
  try {
    const people = Array.from({ length: AT_ONCE }, (_, n) => `user${n + 1}@example.test`);
    const kept = await alternate(
      rounds,
      {
        async reference() {
          bare.send(JSON.stringify({ atOnce: AT_ONCE, each: EACH }));
          return [(AT_ONCE * EACH) / Number(await bare.line())];
        },
        async subject() {
          health.idle.push(await healthP99(instance.url, pause(IDLE_MS)));
          const running = load.run({
            url: instance.url,
            // An address may make ten attempts, then one every five seconds. The simulated proxy reports many
            // addresses.
            connections: people.map((email, person) =>
              Array.from({ length: EACH }, () => ({
                method: 'POST',
                path: '/v1/auth/login',
                forwardedFor: `10.${person}.${attempt >> 8}.${attempt++ & 255}`,
                body: JSON.stringify({ email, password: PASSWORD }),
              })),
            ),
            seconds: null,
            repeat: 1,
          });
          health.busy.push(await healthP99(instance.url, running));
          const { requests, seconds } = await running;
          return [requests / seconds];
        },
      },
      ['login'],
    );
    const judgement = judge('login', kept[0] ?? [], (ratio) => ratio >= MARK, 'logins a second');
    // The first value of each side belongs to the discarded round.
    const ratios = health.busy.map((busy, n) => busy / (health.idle[n] ?? Number.NaN)).slice(1);
    const calm = median(ratios) <= HEALTH_MARK;
    printVerdict({ ...judgement, mark: MARK });
    printVerdict({
      bench: 'login health p99',
      idleMsMedian: round2(median(health.idle.slice(1))),
      busyMsMedian: round2(median(health.busy.slice(1))),
      ratioMedian: round2(median(ratios)),
      mark: HEALTH_MARK,
      verdict: calm ? 'met' : 'missed',
    });
    return Math.max(exitStatus(judgement.verdict), calm ? 0 : 1);
  } finally {
    await load.stop();
    await bare.stop();
    await instance.stop();
  }
}

/** Polls /health until `until` settles. @returns the 99th percentile in milliseconds */
async function healthP99(url: string, until: Promise<unknown>): Promise<number> {
  let over = false;
  const ended = until.finally(() => {
    over = true;
  });
  const times: number[] = [];
  while (!over) {
    const asked = performance.now();
    const answer = await fetch(`${url}/health`);
    await answer.text();
    if (answer.status !== 200) throw new Error(`/health was answered ${answer.status}`);
    times.push(performance.now() - asked);
    await pause(HEALTH_EVERY_MS);
  }
  await ended;
  return percentile(times, 0.99);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
