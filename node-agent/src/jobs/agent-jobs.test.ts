import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MINUTE_MS, SECOND_MS, silentLogger, systemRandom } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import type { JobReport } from '@footlight/protocol/agent';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { HttpAnswer, HttpCall } from '../link/http-call.ts';
import { type AgentJob, AgentJobs } from './agent-jobs.ts';

const RUN = '11111111-1111-4111-8111-111111111111';
const OTHER = '22222222-2222-4222-8222-222222222222';

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'agent-jobs-'));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

/** A fake control plane that answers the agent's calls. */
class FakeControl {
  /** Runs that the next polls return. */
  runs: { run_id: string; job_id: string; params: object; deadline_secs: number }[] = [];
  polls = 0;
  readonly reports: JobReport[] = [];
  /** Status of the answer to a report; an Error: no answer arrives. */
  answer: (report: JobReport) => number | Error = () => 200;

  readonly call = async ({ path, body }: HttpCall): Promise<HttpAnswer> => {
    if (path === '/v1/agent/jobs/pending') {
      this.polls += 1;
      return { status: 200, body: { runs: this.runs } };
    }
    const report = body as JobReport;
    this.reports.push(report);
    const status = this.answer(report);
    if (status instanceof Error) throw status;
    return { status, body: {} };
  };

  hands(run_id: string, job_id = 'home.gc', deadline_secs = 3_600): void {
    this.runs = [...this.runs, { run_id, job_id, params: { a: 1 }, deadline_secs }];
  }
}

/** A job whose runs end only when the test ends them. */
function heldJob() {
  const runs: { params: object; signal: AbortSignal; end(outcome?: object | Error): void }[] = [];
  const job: AgentJob = {
    run: ({ params, signal }) =>
      new Promise((resolve, reject) => {
        runs.push({
          params,
          signal,
          end: (outcome = { state: 'succeeded', summary: { deleted: 1 } }) =>
            outcome instanceof Error ? reject(outcome) : resolve(outcome as { state: 'succeeded' }),
        });
      }),
  };
  return { job, runs };
}

async function openAgent(
  control: FakeControl,
  jobs: Partial<Record<'home.gc' | 'template.warmup', AgentJob>>,
) {
  const clock = new ManualClock();
  const agent = new AgentJobs({
    call: control.call,
    clock,
    random: systemRandom,
    logger: silentLogger(),
    stateDir,
  });
  for (const [id, job] of Object.entries(jobs)) agent.register(id as 'home.gc', job);
  await agent.open();
  agent.start();
  return { agent, clock };
}
const kept = () =>
  (JSON.parse(readFileSync(join(stateDir, 'job-reports.json'), 'utf8')) as { reports: JobReport[] }).reports;

describe('the jobs of an agent', () => {
  test('are polled soon after the start, and then every 60 s ± 10 %', async () => {
    const control = new FakeControl();
    const { agent, clock } = await openAgent(control, {});
    await clock.pass(5 * SECOND_MS);
    expect(control.polls).toBe(1);
    for (let n = 2; n < 6; n += 1) {
      await clock.pass(66 * SECOND_MS);
      expect(control.polls).toBeGreaterThanOrEqual(n);
    }
    expect(control.polls).toBeLessThanOrEqual(6);
    await agent.stop();
  });

  test('run once, however often a poll returns them, and are reported', async () => {
    const control = new FakeControl();
    const { job, runs } = heldJob();
    const { agent, clock } = await openAgent(control, { 'home.gc': job });
    control.hands(RUN);
    await clock.pass(3 * MINUTE_MS);
    expect(control.polls).toBeGreaterThan(1);
    expect(runs).toHaveLength(1);
    expect(runs[0]?.params).toEqual({ a: 1 });
    control.answer = () => new Error('no route');
    runs[0]?.end();
    await expect.poll(() => control.reports.length).toBeGreaterThan(0);
    await clock.pass(3 * MINUTE_MS);
    expect(runs).toHaveLength(1);
    expect(control.reports[0]).toEqual({ run_id: RUN, state: 'succeeded', summary: { deleted: 1 } });
    await agent.stop();
  });

  test.each([
    [{ state: 'deferred', summary: { reason: 'live sessions' } }, 'deferred', { reason: 'live sessions' }],
    [{ state: 'skipped' }, 'skipped', {}],
    [{ state: 'succeeded', summary: { long: 'x'.repeat(5_000) } }, 'succeeded', { truncated: true }],
    [new Error('disk on fire'), 'failed', undefined],
  ])('that end with %o are reported as %s', async (outcome, state, summary) => {
    const control = new FakeControl();
    const { job, runs } = heldJob();
    const { agent, clock } = await openAgent(control, { 'home.gc': job });
    control.hands(RUN);
    await clock.pass(5 * SECOND_MS);
    runs[0]?.end(outcome);
    await expect.poll(() => control.reports[0]).toMatchObject({ state, ...(summary && { summary }) });
    await agent.stop();
  });

  test('that this agent does not know are reported as skipped', async () => {
    const control = new FakeControl();
    const { agent, clock } = await openAgent(control, {});
    control.hands(RUN, 'disk.defragment');
    await clock.pass(5 * SECOND_MS);
    await expect.poll(() => control.reports[0]?.state).toBe('skipped');
    await agent.stop();
  });

  test('get a signal when their claim runs out, and the next run of a job waits for the one before', async () => {
    const control = new FakeControl();
    const { job, runs } = heldJob();
    const { agent, clock } = await openAgent(control, { 'home.gc': job });
    control.hands(RUN, 'home.gc', 10);
    control.hands(OTHER);
    await clock.pass(5 * SECOND_MS);
    expect(runs[0]?.signal.aborted).toBe(false);
    await clock.pass(10 * SECOND_MS);
    expect(runs[0]?.signal.aborted).toBe(true);
    expect(runs).toHaveLength(1);
    runs[0]?.end(new Error('cut short'));
    await expect.poll(() => runs.length).toBe(2);
    runs[1]?.end();
    await expect.poll(() => control.reports.length).toBe(2);
    await agent.stop();
  });

  describe('reports', () => {
    test.each([200, 400, 401])('are final with %d', async (status) => {
      const control = new FakeControl();
      control.answer = () => status;
      const { agent, clock } = await openAgent(control, {});
      control.hands(RUN);
      await clock.pass(5 * SECOND_MS);
      await expect.poll(kept).toEqual([]);
      await clock.pass(MINUTE_MS / 2);
      expect(control.reports).toHaveLength(1);
      await agent.stop();
    });

    test('are reported again after other answers, at growing intervals', async () => {
      const control = new FakeControl();
      let tries = 0;
      control.answer = () => ([503, 409, new Error('reset'), 500][tries++] ?? 200) as number;
      const { agent, clock } = await openAgent(control, {});
      control.hands(RUN);
      await clock.pass(5 * SECOND_MS);
      await expect
        .poll(async () => {
          await clock.pass(SECOND_MS);
          return tries;
        })
        .toBe(5);
      await expect.poll(kept).toEqual([]);
      expect(new Set(control.reports.map((report) => JSON.stringify(report))).size).toBe(1);
      await agent.stop();
    });

    test('are reported by the next process if this one could not', async () => {
      const control = new FakeControl();
      control.answer = () => new Error('no route');
      const first = await openAgent(control, {});
      control.hands(RUN);
      await first.clock.pass(5 * SECOND_MS);
      await expect.poll(() => kept().map(({ run_id }) => run_id)).toEqual([RUN]);
      await first.agent.stop();
      control.answer = () => 200;
      const sent = control.reports.length;
      const second = await openAgent(control, {});
      await second.agent.sendKept();
      expect(control.reports.slice(sent)).toMatchObject([{ run_id: RUN, state: 'skipped' }]);
      await expect.poll(kept).toEqual([]);
      await second.agent.stop();
    });

    test.each(['{', '{"reports":[{"run_id":"x"}]}', '[]', ''])(
      'a damaged file (%s) counts as missing, and is replaced',
      async (text) => {
        writeFileSync(join(stateDir, 'job-reports.json'), text);
        const control = new FakeControl();
        const { agent, clock } = await openAgent(control, {});
        control.hands(RUN);
        await clock.pass(5 * SECOND_MS);
        await expect.poll(() => control.reports.length).toBe(1);
        await expect.poll(kept).toEqual([]);
        await agent.stop();
      },
    );
  });

  test('that the agent’s end interrupts are reported as deferred by the next process', async () => {
    const control = new FakeControl();
    const job: AgentJob = {
      run: ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    };
    const { agent, clock } = await openAgent(control, { 'home.gc': job });
    control.hands(RUN);
    await clock.pass(5 * SECOND_MS);
    await agent.stop();
    expect(kept()).toMatchObject([{ run_id: RUN, state: 'deferred' }]);
    expect(control.reports).toEqual([]);
  });
});
