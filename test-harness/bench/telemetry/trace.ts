/**
 * trace: the time to read two hours of one session by the operation `trace/window`. It is compared with a bare route
 * that reads the same rows by plain SQL and returns them as JSON. A read covers at most ten minutes, so two hours need
 * twelve reads, one after the other. The table contains two hours of samples of each of 20 sessions. The bench also
 * measures the time of one verdict over ten minutes.
 */
import { Agent as HttpAgent, request } from 'undici';
import type { Dialect } from '../api/large-instance.ts';
import type { FleetInstance } from '../fleet/fleet-instance.ts';
import { alternate, exitStatus, judge, median, printVerdict, round2 } from '../rounds.ts';
import { onEachDatabase, startPlainRows } from './plain-rows.ts';

const FLEET = { hosts: 4, sessionsEach: 5 };
const HOURS = 2;
const WINDOW_MS = 10 * 60_000;
const WINDOWS = (HOURS * 3_600_000) / WINDOW_MS;
/** Number of samples. A page sends a sample every second, and a host every five seconds. */
const SAMPLES = { 'client.fps': HOURS * 3_600, 'encoder.fps': (HOURS * 3_600) / 5 } as const;
const REPEATS = 5;
interface Window {
  from: number;
  to: number;
}

const MARKS = { ratio: 2, ms: 300, verdictMs: 100 };

/** @returns exit status: the worst of all figures */
export function benchTrace(rounds: number, dialects: readonly Dialect[]): Promise<number> {
  return onEachDatabase(dialects, FLEET, (dialect, instance, samples) =>
    benchDialect(rounds, dialect, instance, samples),
  );
}

async function benchDialect(
  rounds: number,
  dialect: Dialect,
  instance: FleetInstance,
  samples: string,
): Promise<number> {
  const plain = await startPlainRows(instance, samples);
  // Rows of live sessions are deleted after this time.
  const control = await instance.startControl({ SERVICE_TELEMETRY_ROLLING_WINDOW: '3h' });
  const dispatcher = new HttpAgent();
  const { adminToken, hosts } = instance.fleet;
  const sessionId = hosts[0]?.sessions[2] ?? '';
  const untilMs = Date.now();
  const windows = Array.from({ length: WINDOWS }, (_, n) => {
    const from = untilMs - (WINDOWS - n) * WINDOW_MS + 1;
    return { from, to: from + WINDOW_MS - 1 };
  });
  const get = async (url: string, headers: Record<string, string> = {}): Promise<string> => {
    const answer = await request(url, { dispatcher, headers: { ...headers, 'accept-encoding': 'identity' } });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${url}: ${answer.statusCode} ${text}`);
    return text;
  };
  const read = (path: string, { from, to }: Window) =>
    get(`${control.url}/v1/admin/sessions/${sessionId}/${path}?from=${from}&to=${to}`, {
      authorization: `Bearer ${adminToken}`,
    });
  const sides = {
    reference: ({ from, to }: Window) => get(`${plain.url}/?session=${sessionId}&from=${from}&to=${to}`),
    subject: (window: Window) => read('trace/window', window),
  };
  const measure = (side: keyof typeof sides) => async (): Promise<number[]> => {
    const times: number[] = [];
    for (let n = 0; n < REPEATS; n++) {
      const startedMs = performance.now();
      for (const window of windows) await sides[side](window);
      times.push(performance.now() - startedMs);
    }
    return [median(times)];
  };
  try {
    await plain.fill(HOURS, untilMs);
    checkTraces(await Promise.all(windows.map(sides.subject)));
    const [kept = []] = await alternate(
      rounds,
      { reference: measure('reference'), subject: measure('subject') },
      [`trace ${dialect}`],
    );
    const judgement = judge(
      `trace ${dialect}`,
      kept,
      (ratio, ms) => ratio <= MARKS.ratio && ms <= MARKS.ms,
      'ms',
    );
    printVerdict({ ...judgement, mark: `${MARKS.ratio} and ${MARKS.ms} ms` });
    const times: number[] = [];
    for (const window of windows) {
      const startedMs = performance.now();
      await read('verdict', window);
      times.push(performance.now() - startedMs);
    }
    const isFast = Math.max(...times) <= MARKS.verdictMs;
    printVerdict({
      bench: `trace ${dialect} verdict`,
      medianMs: round2(median(times)),
      worstMs: round2(Math.max(...times)),
      mark: `${MARKS.verdictMs} ms`,
      verdict: isFast ? 'met' : 'missed',
    });
    return Math.max(exitStatus(judgement.verdict), isFast ? 0 : 1);
  } finally {
    await dispatcher.close();
    await control.stop();
    await plain.stop();
  }
}

/** @throws when a sample of the two hours is missing or duplicated */
function checkTraces(texts: readonly string[]): void {
  const traces = texts.map((text) => JSON.parse(text) as { series: Record<string, unknown[]> });
  for (const [name, count] of Object.entries(SAMPLES)) {
    const found = traces.reduce((sum, { series }) => sum + (series[name]?.length ?? 0), 0);
    if (found !== count) throw new Error(`${name} has ${found} points instead of ${count}`);
  }
}
