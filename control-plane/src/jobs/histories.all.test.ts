import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, describeDatabases, type TestApp } from '../testing/index.ts';
import { choose, SEED_HINT, testRandom } from '../testing/seed.ts';
import { addCallingHost, type CallingHost } from './testing/hosts.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
/** Steps of a history. It continues, up to the limit, until runs have ended in every required way. */
const STEPS = LONG ? 3_000 : 150;
const MAX_STEPS = 8 * STEPS;
const NEEDED_STATES = ['succeeded', 'deferred', 'aborted'];
/**
 * All rows are checked only after this number of steps, because a long history has thousands of rows. Open runs are
 * checked after each step.
 */
const LOOK_EVERY = LONG ? 25 : 1;
/** A step took 4 ms on two busy cores. */
const LONGEST_STEP_MS = 100;
const OPEN = new Set(['pending', 'running']);
const REPORTED = ['succeeded', 'failed', 'deferred', 'skipped'] as const;

/**
 * Random histories with hosts that restart and report twice, late and for other hosts, with administrators, events and
 * time. After each step a target has at most one open run of a job, ended runs have not changed, and no run is followed
 * by more than one run.
 */
describeDatabases('any history of runs', ({ fresh }) => {
  let app: TestApp;
  let hosts: CallingHost[];
  beforeAll(async () => {
    app = await createTestApp(await fresh(), {
      env: {
        SERVICE_JOBS_CLAIM_TIMEOUT_SECS: '600',
        SERVICE_JOBS_RUN_RETENTION: '500',
        SERVICE_JOBS_RUN_RETENTION_DAYS: '0',
      },
    });
    hosts = await Promise.all(['hosta', 'hostb', 'hostc'].map((name) => addCallingHost(app, name)));
  });
  afterAll(() => app.close());

  test(
    'keeps one open run for each target, and never changes one that ended',
    async () => {
      const random = testRandom();
      const { database, leader } = app.plane.platform;
      /** Every run that a host received, with the host. */
      const handed: { host: CallingHost; runId: string }[] = [];
      const ended = new Map<string, string>();
      const states = new Set<string>();
      const isComplete = () => met > 0 && NEEDED_STATES.every((state) => states.has(state));
      let met = 0;

      const admin = (path: string, body: object) =>
        app.call(app.people.admin, 'POST', `/v1/admin/jobs/${path}`, { body });
      const jobs = ['home.gc', 'template.warmup'] as const;
      /** Polls and reports happen as often as all other steps together. */
      const calls: (() => Promise<unknown>)[] = [
        async () => {
          const host = choose(random, hosts);
          for (const { run_id } of (await host.pending()).body.runs) handed.push({ host, runId: run_id });
        },
        async () => {
          const { host, runId } = choose(random, handed.slice(-6)) ?? {
            host: hosts[0]!,
            runId: hosts[0]!.id,
          };
          const answer = await host.report({ run_id: runId, state: choose(random, REPORTED) });
          expect([200, 401, 409]).toContain(answer.status);
        },
      ];
      const others: (() => Promise<unknown>)[] = [
        async () => {
          const old = choose(random, handed);
          if (old === undefined) return;
          const foreign = hosts.filter(({ id }) => id !== old.host.id);
          const answer = await choose(random, foreign).report({
            run_id: old.runId,
            state: choose(random, REPORTED),
          });
          expect(answer.status).toBe(401);
        },
        () => admin(`${choose(random, jobs)}/run`, { host_id: choose(random, hosts).id }),
        () =>
          database.transaction((tx) =>
            app.plane.platform.jobs.event(tx, choose(random, jobs), choose(random, hosts).id),
          ),
        async () => {
          const host = choose(random, hosts);
          host.bootId = app.plane.platform.random.uuid();
          await database.transaction((tx) =>
            app.plane.jobs.agents.agentsRestarted(tx, [{ hostId: host.id, bootId: host.bootId! }]),
          );
        },
        () => leader.runNow('jobs.dispatch'),
        () =>
          app.call(app.people.admin, 'PATCH', `/v1/admin/jobs/${choose(random, jobs)}`, {
            body: { enabled: random.number() < 0.8, window_days: [] },
          }),
        async () => app.clock.pass(choose(random, [1, 10 * SECOND_MS, 61 * SECOND_MS, 11 * MINUTE_MS])),
      ];

      for (let step = 0; step < STEPS || (!isComplete() && step < MAX_STEPS); step += 1) {
        // Some steps run concurrently.
        const together = random.number() < 0.3 ? 3 : 1;
        if (together > 1) met += 1;
        await Promise.all(
          Array.from({ length: together }, () => choose(random, random.number() < 0.5 ? calls : others)()),
        );
        const targets = (
          await database.db
            .selectFrom('job_runs')
            .select(['job_id', 'host_id'])
            .where('state', 'in', ['pending', 'running'])
            .execute()
        ).map(({ job_id, host_id }) => `${job_id} ${host_id}`);
        expect(targets.length, `${SEED_HINT}, step ${step}`).toBe(new Set(targets).size);
        if (step % LOOK_EVERY !== 0 && step !== STEPS - 1) continue;
        const rows = await database.db.selectFrom('job_runs').selectAll().execute();
        for (const row of rows) {
          if (OPEN.has(row.state)) {
            expect(ended.has(row.id), SEED_HINT).toBe(false);
            expect(row.finished_at).toBeNull();
            expect(row.claimed_at === null).toBe(row.state === 'pending');
            continue;
          }
          expect(row.finished_at, SEED_HINT).not.toBeNull();
          const text = JSON.stringify(row);
          expect(ended.get(row.id) ?? text, SEED_HINT).toBe(text);
          ended.set(row.id, text);
          states.add(row.state);
        }
        // Each deferred run is followed by its next attempt: as many retries as deferrals.
        const attempts = rows.filter(({ attempt }) => attempt > 1).length;
        expect(attempts, SEED_HINT).toBe(rows.filter(({ state }) => state === 'deferred').length);
      }
      expect(met, SEED_HINT).toBeGreaterThan(0);
      expect([...states], SEED_HINT).toEqual(expect.arrayContaining(NEEDED_STATES));
    },
    30_000 + MAX_STEPS * LONGEST_STEP_MS,
  );
});
