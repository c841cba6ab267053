import { silentLogger } from '@footlight/platform';
import { ManualClock, seededRandom } from '@footlight/platform/testing';
import type { ScanReport, ScanTask } from '@footlight/protocol/agent';
import { describe, expect, test, vi } from 'vitest';
import type { HttpCall } from '../link/http-call.ts';
import { EVENT_LIMIT_MS } from '../testing/event-limit.ts';
import { HomeScanner } from './home-scanner.ts';
import type { ScanResult } from './steam-library.ts';

const task = (n: number): ScanTask => ({
  scan_id: `${String(n).repeat(8)}-1111-4111-8111-111111111111`,
  root_path: `/homes/${n}`,
  container_path: '/home/service',
  relative_roots: [],
  max_entries: 10,
  max_manifest_bytes: 1024,
});
const found: ScanResult = { ok: true, complete: true, error: '', entries: [], outside: 0 };

/** A control plane that answers reports with these statuses in order, and then repeats the last one. */
function world(statuses: readonly (number | 'lost')[] = [200]) {
  const clock = new ManualClock();
  const pending: ScanTask[] = [];
  const reports: ScanReport[] = [];
  const scans: string[] = [];
  let finish: (() => void) | null = null;
  const state = { holdScans: false, pollStatus: 200 };
  const scanner = new HomeScanner({
    clock,
    random: seededRandom(1),
    logger: silentLogger(),
    call: async ({ method, body }: HttpCall) => {
      if (method === 'GET') return { status: state.pollStatus, body: { scans: [...pending] } };
      const answer = statuses[Math.min(reports.length, statuses.length - 1)] ?? 200;
      reports.push(body as ScanReport);
      if (answer === 'lost') throw new Error('no answer');
      return { status: answer, body: {} };
    },
    scan: async ({ root_path }) => {
      scans.push(root_path);
      if (state.holdScans)
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
      return found;
    },
  });
  return { clock, pending, reports, scans, scanner, state, finish: () => finish?.() };
}

const until = (isSo: () => boolean) =>
  vi.waitFor(() => expect(isSo()).toBe(true), { timeout: EVENT_LIMIT_MS });

describe('the scanner of homes', () => {
  test('scans the tasks of a poll one after another, and reports each', async () => {
    const { pending, reports, scans, scanner } = world();
    pending.push(task(1), task(2));
    await scanner.ask();
    await scanner.idle();
    expect(scans).toEqual(['/homes/1', '/homes/2']);
    expect(reports.map(({ scan_id }) => scan_id)).toEqual([task(1).scan_id, task(2).scan_id]);
    expect(reports[0]).toEqual({
      scan_id: task(1).scan_id,
      ok: true,
      complete: true,
      error: null,
      entries: [],
    });
  });

  test('ignores a repeated task that is in progress', async () => {
    const { finish, pending, reports, scans, scanner, state } = world();
    state.holdScans = true;
    pending.push(task(1));
    await scanner.ask();
    await scanner.ask();
    await until(() => scans.length === 1);
    finish();
    await scanner.idle();
    expect([scans.length, reports.length]).toEqual([1, 1]);
  });

  test('repeats a report until it is accepted, at growing intervals', async () => {
    const { clock, pending, reports, scanner } = world(['lost', 500, 503, 429, 200]);
    pending.push(task(1));
    await scanner.ask();
    let passedMs = 0;
    const sentAtMs: number[] = [];
    while (reports.length < 5) {
      await clock.pass(50);
      await new Promise((resolve) => setImmediate(resolve));
      passedMs += 50;
      if (reports.length > sentAtMs.length) sentAtMs.push(passedMs);
    }
    await scanner.idle();
    const waitsMs = sentAtMs.slice(1).map((atMs, n) => atMs - (sentAtMs[n] ?? 0));
    expect(waitsMs).toEqual(waitsMs.toSorted((a, b) => a - b));
    expect(waitsMs.at(-1)).toBeGreaterThan(1_500);
    expect(reports).toHaveLength(5);
    expect(new Set(reports.map(({ scan_id }) => scan_id)).size).toBe(1);
  });

  test.each([400, 401, 409])('sends a report no more after %d', async (status) => {
    const { pending, reports, scanner } = world([status]);
    pending.push(task(1));
    await scanner.ask();
    await scanner.idle();
    expect(reports).toHaveLength(1);
  });

  test.each([
    ['401', { pollStatus: 401 }],
    ['500', { pollStatus: 500 }],
  ])('continues after a poll with the answer %s', async (_what, more) => {
    const { pending, scans, scanner, state } = world();
    pending.push(task(1));
    Object.assign(state, more);
    await scanner.ask();
    expect(scans).toEqual([]);
    state.pollStatus = 200;
    await scanner.ask();
    await scanner.idle();
    expect(scans).toEqual(['/homes/1']);
  });

  test('polls every minute ± 10 %', async () => {
    const { clock, pending, scans, scanner } = world();
    scanner.start();
    await clock.pass(5_000);
    pending.push(task(1));
    await clock.pass(48_900);
    expect(scans).toEqual([]);
    await clock.pass(17_200);
    await until(() => scans.length === 1);
    await scanner.stop();
  });

  test('ends with the agent, without a further report', async () => {
    const { finish, pending, reports, scans, scanner, state } = world();
    state.holdScans = true;
    pending.push(task(1), task(2));
    await scanner.ask();
    await until(() => scans.length === 1);
    await scanner.stop();
    finish();
    await scanner.idle();
    expect([scans.length, reports.length]).toEqual([1, 0]);
  });
});
