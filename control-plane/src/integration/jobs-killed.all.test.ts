import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeAgent, usePostgres } from '@footlight/test-harness';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseBeside, databaseBeside } from '../testing/database-beside.ts';
import { type OwnProcess, startOwnProcess } from '../testing/own-process.ts';
import { SEED_HINT, testRandom } from '../testing/seed.ts';

const KILLS = process.env.FOOTLIGHT_LONG === '1' ? 40 : 2;
/** Number of reports of the host before a kill; the kill interrupts one of its calls. */
const REPORTS = 4;
const ENROLLMENT = 'a-fixed-enrollment-token';
const TARGETS =
  "select job_id, coalesce(host_id, '') as host_id, id, state, error, started_at, finished_at from job_runs";

interface Run {
  job_id: string;
  host_id: string;
  id: string;
  state: string;
  error: string | null;
  started_at: string | number | null;
  finished_at: string | number | null;
}

describe.each(['sqlite', 'postgres'] as const)(
  'a control plane that is killed while jobs run (%s)',
  (dialect) => {
    let folder: string;
    let beside: DatabaseBeside;
    let service: OwnProcess;
    let agent: FakeAgent;
    const random = testRandom();
    /** The runs that the host received, and the confirmations of its reports. */
    const handed = new Map<string, string>();
    const confirmed = new Map<string, string>();

    const start = async () => {
      service = await startOwnProcess(folder, {
        env: { SERVICE_ENROLLMENT_TOKEN: ENROLLMENT, SERVICE_JOBS_TICK_SECS: '1', ...beside.env },
      });
    };
    /** null: no complete answer arrived. */
    async function call(
      method: string,
      path: string,
      body?: object,
    ): Promise<{ status: number; body: unknown } | null> {
      try {
        const answer = await fetch(`${service.url}${path}`, {
          method,
          headers: agent.headers(),
          ...(body && { body: JSON.stringify(body) }),
        });
        return { status: answer.status, body: await answer.json() };
      } catch {
        return null;
      }
    }
    /** Polls, and reports the received runs that are not confirmed yet. @returns number of confirmed reports */
    async function round(): Promise<number> {
      const polled = await call('GET', '/v1/agent/jobs/pending');
      if (polled?.status === 200)
        for (const { run_id } of (polled.body as { runs: { run_id: string }[] }).runs)
          handed.set(run_id, 'succeeded');
      let done = 0;
      for (const [run_id, state] of handed) {
        if (confirmed.has(run_id)) continue;
        const reported = await call('POST', '/v1/agent/jobs/report', { run_id, state });
        if (reported?.status === 200) {
          confirmed.set(run_id, state);
          done += 1;
        }
      }
      return done;
    }
    /** Expects that each target has at most one open run, and that no run began before the former one ended. */
    async function expectOneAtATime(): Promise<void> {
      const byTarget = new Map<string, Run[]>();
      for (const run of await beside.rows<Run>(TARGETS)) {
        const key = `${run.job_id} ${run.host_id}`;
        byTarget.set(key, [...(byTarget.get(key) ?? []), run]);
      }
      expect(byTarget.size).toBeGreaterThan(1);
      for (const [target, runs] of byTarget) {
        const open = runs.filter(({ finished_at }) => finished_at === null);
        expect([target, open.length <= 1], SEED_HINT).toEqual([target, true]);
        const began = runs
          .filter(({ started_at }) => started_at !== null)
          .sort((a, b) => Number(a.started_at) - Number(b.started_at));
        for (const [n, run] of began.slice(1).entries())
          expect(Number(run.started_at), `${target} ${SEED_HINT}`).toBeGreaterThanOrEqual(
            Number(began[n]?.finished_at ?? Number.POSITIVE_INFINITY),
          );
      }
    }

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'jobs-killed-'));
      beside = await databaseBeside(dialect, folder, usePostgres);
      await start();
      agent = new FakeAgent({
        url: service.url,
        nodeName: 'hosta',
        credential: { token: ENROLLMENT },
        heartbeatMs: 0,
      });
      await agent.connect();
      await agent.drop();
      // The lease of a killed process lasts 30 s on Postgres, but a single replica does not wait for its end.
      await beside.rows("update jobs set interval_secs = 1 where schedule_kind = 'interval'");
    });
    afterAll(async () => {
      await service?.end('SIGKILL');
      await beside.close();
      rmSync(folder, { recursive: true, force: true });
    });

    test(
      'hands no target two runs at once, forgets no report that it confirmed, and goes on',
      async () => {
        for (let kill = 0; kill <= KILLS; kill += 1) {
          let reports = 0;
          let calls = 0;
          const killAfter = Math.floor(random.number() * 3);
          await expect
            .poll(
              async () => {
                reports += await round();
                return reports;
              },
              { timeout: 20_000, interval: 100 },
            )
            .toBeGreaterThanOrEqual(kill === 0 ? REPORTS : 1);
          await expectOneAtATime();
          if (kill === KILLS) break;
          // The kill interrupts a claim or a report, or happens between them.
          const last = (async () => {
            while (!service.ended) {
              calls += 1;
              await round();
            }
          })();
          await expect.poll(() => calls, { interval: 1 }).toBeGreaterThan(killAfter);
          await service.end('SIGKILL');
          await last;
          await expectOneAtATime();
          await beside.rows('update leases set expires_at = 0');
          await start();
        }
        const rows = new Map((await beside.rows<Run>(TARGETS)).map((run) => [run.id, run]));
        for (const [id, state] of confirmed) {
          const run = rows.get(id);
          // A missing run is allowed, because only the newest fifty of a target are kept.
          if (run !== undefined) expect([id, run.state], SEED_HINT).toEqual([id, state]);
        }
        const errors = [...rows.values()]
          .filter(({ state }) => state === 'aborted')
          .map(({ error }) => error);
        for (const error of errors) expect(error).toBe('dispatcher went away');
      },
      120_000 + KILLS * 15_000,
    );
  },
);
