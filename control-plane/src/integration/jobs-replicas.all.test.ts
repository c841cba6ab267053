import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeAgent, freePort, type OwnPostgresServer, startPostgres } from '@footlight/test-harness';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findViolations, LOG_RUNS, type RunChange } from '../jobs/testing/run-log.ts';
import { type OwnProcess, startOwnProcess } from '../testing/own-process.ts';
import { choose, SEED_HINT, testRandom } from '../testing/seed.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
/** stopped: the lease holder is stopped (SIGSTOP) in the middle of a job. killed: one of the two replicas is killed. */
const FAULTS = Array.from({ length: LONG ? 12 : 3 }, (_, n) => (n % 3 === 2 ? 'killed' : 'stopped'));
const HOSTS = 3;
/** Concurrent polls of a host, like a repeat after a lost answer. */
const POLLS = 2;
const HOST_JOBS = ['home.gc', 'template.warmup'] as const;
const STATES = ['succeeded', 'failed', 'deferred', 'skipped'] as const;
/** Time limit for an answer, because a stopped process does not answer. */
const ANSWER_MS = 5_000;
/**
 * A lease lasts 30 s. A process that is stopped in the middle of a transaction keeps the lock on the lease's row until
 * Postgres ends its idle connection, which also takes 30 s.
 */
const TAKEN_MS = 90_000;
const ADA = {
  email: 'ada@example.org',
  username: 'ada',
  password: 'a-long-enough-pass-phrase',
  device_key: 'd',
};
const ENROLLMENT = 'a-fixed-enrollment-token';

interface Answered {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the service really sent.
  body: any;
}

/**
 * Two control planes on one Postgres, hosts that poll and report to both, an administrator, and a lease that is taken
 * from its holder again and again. A trigger logs every change of a run; at the end the whole log is checked.
 */
describe('two control planes on one Postgres, while the holder of the lease is stopped and killed', () => {
  let folder: string;
  let server: OwnPostgresServer;
  let url: string;
  let beside: pg.Client;
  let bearer: string;
  const ports: number[] = [];
  const replicas: OwnProcess[] = [];
  const agents: FakeAgent[] = [];
  const random = testRandom();
  /** Run id → agent processes that received the run. */
  const handed = new Map<string, Set<string>>();
  /** Runs of each host, in the order in which the host received them. */
  const worked = new Map<FakeAgent, string[]>();
  const reported = new Map<string, Set<string>>();
  const answers = new Map<string, number>();
  let goesOn = true;

  const start = async (n: number) => {
    const address = new URL(url);
    address.searchParams.set('application_name', `replica-${n}`);
    replicas[n] = await startOwnProcess(join(folder, String(n)), {
      env: {
        DATABASE_URL: address.href,
        LISTEN_ADDR: `127.0.0.1:${ports[n]}`,
        SERVICE_ENROLLMENT_TOKEN: ENROLLMENT,
        SERVICE_JOBS_TICK_SECS: '1',
        SERVICE_JOBS_CLAIM_TIMEOUT_SECS: '3',
        SERVICE_JOBS_RUN_RETENTION: '500',
      },
    });
  };

  /** null: no complete answer arrived. */
  async function ask(
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: object,
  ): Promise<Answered | null> {
    try {
      const answer = await fetch(`${choose(random, replicas).url}${path}`, {
        method,
        headers,
        signal: AbortSignal.timeout(ANSWER_MS),
        ...(body && { body: JSON.stringify(body) }),
      });
      const what = `${method} ${path.replace(/[0-9a-f-]{36}/g, '{id}')} ${answer.status}`;
      answers.set(what, (answers.get(what) ?? 0) + 1);
      return { status: answer.status, body: await answer.json() };
    } catch {
      return null;
    }
  }
  const asAdmin = (method: string, path: string, body: object) =>
    ask(method, `/v1/admin/jobs/${path}`, { authorization: `Bearer ${bearer}` }, body);
  /** Repeats the step until the faults are over. */
  async function repeat(step: () => Promise<unknown>): Promise<void> {
    while (goesOn) {
      await step();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async function poll(agent: FakeAgent): Promise<void> {
    const headers = agent.headers();
    const answer = await ask('GET', '/v1/agent/jobs/pending', headers);
    if (answer?.status !== 200) return;
    for (const { run_id } of answer.body.runs as { run_id: string }[]) {
      handed.set(run_id, (handed.get(run_id) ?? new Set()).add(headers['X-Service-Boot'] ?? ''));
      worked.set(agent, [...(worked.get(agent) ?? []), run_id]);
    }
  }
  /** Reports one of the last runs of a host, often a second time or late; some are never reported. */
  async function report(agent: FakeAgent): Promise<void> {
    const run_id = choose(random, worked.get(agent)?.slice(-4) ?? []);
    if (run_id === undefined) return;
    await Promise.all(
      Array.from({ length: random.number() < 0.3 ? 2 : 1 }, () => {
        const state = choose(random, STATES);
        reported.set(run_id, (reported.get(run_id) ?? new Set()).add(state));
        return ask('POST', '/v1/agent/jobs/report', agent.headers(), { run_id, state });
      }),
    );
  }
  async function reportForeign(): Promise<void> {
    const [agent, other] = [choose(random, agents), choose(random, agents)];
    const run_id = choose(random, worked.get(other) ?? []);
    if (agent === other || run_id === undefined) return;
    const answer = await ask('POST', '/v1/agent/jobs/report', agent.headers(), { run_id, state: 'failed' });
    expect([null, 401, 503]).toContain(answer?.status ?? null);
  }
  /** Another process of the agent registers, which ends the runs of the former one. */
  async function restartAgent(agent: FakeAgent): Promise<void> {
    await agent.crash();
    agent.options.url = choose(random, replicas).url;
    await agent.connect().catch(() => undefined);
    await agent.drop();
  }

  const fence = async (): Promise<number> =>
    Number((await beside.query("select fence from leases where name = 'jobs.dispatch'")).rows[0]?.fence ?? 0);
  const endedOfDispatchers = async (): Promise<number> =>
    Number(
      (
        await beside.query(
          "select count(*) as count from run_log where fence is not null and state not in ('pending', 'running')",
        )
      ).rows[0].count,
    );
  const expireLease = () => beside.query("update leases set expires_at = 0 where name = 'jobs.dispatch'");

  /**
   * Whether a transaction has the row of the lease; a transaction of a stopped process keeps it until Postgres ends its
   * connection.
   */
  async function isLeaseLocked(): Promise<boolean> {
    try {
      await beside.query("select 1 from leases where name = 'jobs.dispatch' for no key update nowait");
      return false;
    } catch {
      return true;
    }
  }

  /**
   * Stops the holder while its job waits for a table, until the other replica has the lease. Then the holder continues:
   * its job ends, and its next tick runs.
   * @param isExpired whether the lease is set to expired; otherwise it expires by time
   * @param former the replica that the last fault stopped, which therefore does not have the lease; -1: none
   * @returns the replica that was stopped
   */
  async function stopHolder(isExpired: boolean, former: number): Promise<number> {
    const before = await fence();
    const locker = new pg.Client({ connectionString: url });
    await locker.connect();
    let holder = -1;
    try {
      await locker.query('begin');
      // telemetry.retain reads this table outside its transactions, so the lease's row stays unlocked.
      await locker.query('lock table session_trace_events in access exclusive mode');
      await expect
        .poll(
          async () => {
            const { rows } = await beside.query<{ name: string }>(
              "select application_name as name from pg_stat_activity where wait_event_type = 'Lock' and query like '%session_trace_events%' and application_name like 'replica-%'",
            );
            // The replica that was stopped before may still be running its old job.
            const waiting = rows.map(({ name }) => Number(name.replace('replica-', '')));
            holder = waiting.find((n) => n !== former) ?? -1;
            if (holder < 0) return false;
            replicas[holder]?.signal('SIGSTOP');
            // Another job of the holder may be inside a transaction; then the other replica would wait for half a
            // minute.
            if (!isExpired || !(await isLeaseLocked())) return true;
            replicas[holder]?.signal('SIGCONT');
            return false;
          },
          { timeout: 20_000, interval: 20 },
        )
        .toBe(true);
    } finally {
      await locker.end();
    }
    const stopped = replicas[holder] as OwnProcess;
    try {
      if (isExpired) await expireLease();
      await expect.poll(fence, { timeout: TAKEN_MS, interval: 50 }).toBeGreaterThan(before);
    } finally {
      stopped.signal('SIGCONT');
    }
    return holder;
  }

  async function killOne(isExpired: boolean): Promise<void> {
    const n = Math.floor(random.number() * replicas.length);
    await replicas[n]?.end('SIGKILL');
    if (isExpired) await expireLease();
    await start(n);
    const before = await endedOfDispatchers();
    await expect.poll(endedOfDispatchers, { timeout: TAKEN_MS, interval: 50 }).toBeGreaterThan(before + 2);
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'jobs-replicas-'));
    server = await startPostgres();
    ({ url } = await server.createDatabase());
    ports.push(await freePort(), await freePort());
    await start(0);
    await start(1);
    beside = new pg.Client({ connectionString: url });
    await beside.connect();
    const claimed = await fetch(`${replicas[0]?.url}/v1/setup/claim`, {
      method: 'POST',
      headers: { 'x-service-setup-token': readFileSync(join(folder, '0', 'setup-token'), 'utf8').trim() },
      body: JSON.stringify(ADA),
    });
    bearer = ((await claimed.json()) as { access_token: string }).access_token;
    for (let n = 0; n < HOSTS; n += 1) {
      const agent = new FakeAgent({
        url: choose(random, replicas).url,
        nodeName: `host-${n}`,
        credential: { token: ENROLLMENT },
        heartbeatMs: 0,
      });
      await agent.connect();
      await agent.drop();
      agents.push(agent);
    }
    await beside.query(LOG_RUNS);
    // Runs that began before are not in the log.
    await beside.query('delete from job_runs');
    await beside.query('delete from run_log');
    await beside.query("update jobs set interval_secs = 1 where schedule_kind = 'interval'");
  }, 120_000);
  afterAll(async () => {
    for (const replica of replicas) await replica.end('SIGKILL');
    await beside?.end();
    rmSync(folder, { recursive: true, force: true });
    // `stop` throws with the statements of each deadlock.
    await server?.stop();
  });

  test(
    'one run of a target at a time, no write of an old holder, no lost retry, no changed end',
    async () => {
      const [restarting] = agents as [FakeAgent];
      const works = [
        ...agents.flatMap((agent) => Array.from({ length: POLLS }, () => repeat(() => poll(agent)))),
        ...agents.map((agent) => repeat(() => report(agent))),
        repeat(reportForeign),
        repeat(() => restartAgent(restarting)),
        repeat(() =>
          asAdmin('POST', `${choose(random, HOST_JOBS)}/run`, { host_id: choose(random, agents).hostId }),
        ),
        repeat(() => asAdmin('POST', 'auth.token_janitor/run', {})),
        // Changes a window, so that the pending runs are planned again.
        repeat(() =>
          asAdmin('PATCH', 'home.gc', { window_days: choose(random, [[], [0, 1, 2, 3, 4, 5, 6]]) }),
        ),
      ];
      try {
        let former = -1;
        for (const [n, fault] of FAULTS.entries()) {
          const isExpired = !LONG || n % 2 === 0;
          if (fault === 'stopped') former = await stopHolder(isExpired, former);
          else {
            await killOne(isExpired);
            former = -1;
          }
        }
      } finally {
        goesOn = false;
        await Promise.all(works);
      }

      const { rows } = await beside.query<RunChange>('select * from run_log order by seq');
      expect(findViolations(rows).slice(0, 10), SEED_HINT).toEqual([]);
      for (const [runId, boots] of handed) expect([runId, boots.size]).toEqual([runId, 1]);
      const ends = new Map(rows.filter(({ op }) => op === 'UPDATE').map(({ id, state }) => [id, state]));
      for (const [runId, states] of reported)
        expect(['running', 'aborted', ...states]).toContain(ends.get(runId));
      // Make sure that the required faults have happened.
      const errors = new Set(rows.map(({ error }) => error));
      for (const error of ['dispatcher went away', 'agent restarted']) expect([...errors]).toContain(error);
      expect([...ends.values()]).toEqual(expect.arrayContaining([...STATES]));
      for (const what of [
        'POST /v1/agent/jobs/report 200',
        'POST /v1/agent/jobs/report 401',
        'POST /v1/admin/jobs/home.gc/run 202',
        'POST /v1/admin/jobs/home.gc/run 409',
        'PATCH /v1/admin/jobs/home.gc 200',
      ])
        expect([what, answers.get(what) ?? 0]).not.toEqual([what, 0]);
      const failed = [...answers.keys()].filter((what) => / 5\d\d$/.test(what) && !what.endsWith(' 503'));
      expect(failed, SEED_HINT).toEqual([]);
    },
    60_000 + FAULTS.length * 120_000,
  );
});
