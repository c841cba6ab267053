/**
 * captures: the intervals between the pictures that a viewer receives, while captures of one kind are made twice a
 * second, compared with a window without captures. The windows alternate within one session, because the speed of a
 * machine varies by up to a third from one minute to the next.
 */
import { CAPTURE_KINDS, type CaptureKind } from '../../../protocol/src/agent/captures.ts';
import { eventually } from '../../src/stack/program.ts';
import { PersonSessions } from '../../src/stack/sessions.ts';
import { startStack } from '../../src/stack/stack.ts';
import {
  exitStatus,
  type Judgement,
  judge,
  percentile,
  printLine,
  printVerdict,
  type Round,
  round2,
} from '../rounds.ts';

const STREAM = { width: 1280, height: 720, fps: 30, bitrate_kbps: 4000 };
const WINDOW_MS = 3_000;
/** Time between the starts of two captures; a burst takes longer than this. */
const EVERY_MS = 500;
/** Warm-up time until V8 has compiled the code that runs for every picture. */
const WARM_MS = 8_000;
/** Parameters that make a capture large, and a burst short enough to start often. */
const PARAMS: Partial<Record<CaptureKind, object>> = {
  log_tail: { lines: 1_000 },
  burst_stats: { windows: 10, window_ms: 100 },
};
const LIMIT_MS = 15_000;
/** Largest change of the intervals that a capture may cause. */
const MARK = 0.05;

type Side = 'reference' | 'subject';
/** Intervals of the windows of both sides, ms. */
type Windows = Record<Side, number[][]>;

/** @returns the exit status */
export async function benchCaptures(rounds: number): Promise<number> {
  const stack = await startStack();
  try {
    const { token } = await stack.claim();
    const sessions = new PersonSessions(stack, token);
    const { width, height, fps, bitrate_kbps } = STREAM;
    const fields = {
      default_width: width,
      default_height: height,
      default_fps: fps,
      default_bitrate_kbps: bitrate_kbps,
    };
    const { id } = await sessions.launch(await sessions.app('Pattern', null, {}, fields), STREAM);
    const { video } = await sessions.watch(id);
    await pause(WARM_MS);
    const kept = await compare(rounds, {
      intervals: () => intervalsOf(video.takeArrivals()),
      capture: (kind) => capture(sessions, id, kind),
    });
    await sessions.close();
    return judged(kept);
  } finally {
    await stack.stop();
  }
}

interface Session {
  /** Intervals between the pictures since the last call, ms. */
  intervals(): number[];
  /** Makes one capture and waits for its result. */
  capture(kind: CaptureKind): Promise<void>;
}

/** The first round is discarded. */
async function compare(rounds: number, session: Session): Promise<Map<CaptureKind, Windows>> {
  const all = new Map<CaptureKind, Windows>(
    CAPTURE_KINDS.map((kind) => [kind, { reference: [], subject: [] }]),
  );
  for (let round = 0; round <= rounds; round++) {
    for (const [kind, kept] of all) {
      let captures = 0;
      const order =
        round % 2 === 0 ? (['reference', 'subject'] as const) : (['subject', 'reference'] as const);
      for (const side of order) {
        session.intervals();
        const over = pause(WINDOW_MS);
        if (side === 'subject') captures = await repeat(() => session.capture(kind), over);
        await over;
        kept[side].push(session.intervals());
      }
      const [reference = [], subject = []] = [kept.reference.at(-1), kept.subject.at(-1)];
      printLine({
        bench: 'captures',
        kind,
        round,
        discarded: round === 0,
        captures,
        mean: [round2(mean(reference)), round2(mean(subject))],
        p95: [round2(percentile(reference, 0.95)), round2(percentile(subject, 0.95))],
      });
      if (round > 0) continue;
      kept.reference.pop();
      kept.subject.pop();
    }
  }
  return all;
}

/**
 * Calls `work` repeatedly until `over` settles.
 * @returns number of calls
 */
async function repeat(work: () => Promise<void>, over: Promise<void>): Promise<number> {
  let isOver = false;
  void over.then(() => {
    isOver = true;
  });
  let times = 0;
  while (!isOver) {
    const next = pause(EVERY_MS);
    await work();
    times += 1;
    await next;
  }
  return times;
}

async function capture(sessions: PersonSessions, id: string, kind: CaptureKind): Promise<void> {
  const order = { kind, params: PARAMS[kind] ?? {} };
  const { body } = await sessions.call('POST', `/v1/admin/sessions/${id}/capture`, order);
  const url = `/v1/admin/sessions/${id}/captures/${body.capture_id}`;
  const result = await eventually(`the ${kind}`, LIMIT_MS, async () => {
    const answer = await sessions.call('GET', url);
    return answer.status === 200 ? answer.body : null;
  });
  if (result.error !== undefined) throw new Error(`The ${kind} failed: ${result.error}`);
}

function judged(all: Map<CaptureKind, Windows>): number {
  let status = 0;
  for (const [kind, windows] of all) {
    for (const judgement of [judgeMean(kind, windows), judgeTail(kind, windows)]) {
      printVerdict(judgement);
      status = Math.max(status, exitStatus(judgement.verdict));
    }
  }
  return status;
}

const isMet = (ratio: number) => Math.abs(ratio - 1) < MARK;

function judgeMean(kind: CaptureKind, windows: Windows): Judgement {
  return judge(`captures, ${kind}: mean interval`, roundsOf(windows, mean), isMet, 'ms');
}

/**
 * A window has 90 intervals, so five of them decide its 95th percentile. The intervals of all windows of a side are
 * therefore combined. The printed spread is the spread of the single windows.
 */
function judgeTail(kind: CaptureKind, windows: Windows): Judgement {
  const p95 = (intervals: readonly number[]) => percentile(intervals, 0.95);
  const bench = `captures, ${kind}: 95th percentile`;
  const [reference, subject] = [p95(windows.reference.flat()), p95(windows.subject.flat())];
  const ratioMedian = round2(subject / reference);
  const ofWindows = judge(bench, roundsOf(windows, p95), isMet, 'ms');
  return {
    ...ofWindows,
    referenceMedian: round2(reference),
    subjectMedian: round2(subject),
    ratioMedian,
    verdict: ofWindows.verdict === 'repeat' ? 'repeat' : isMet(ratioMedian) ? 'met' : 'missed',
  };
}

const roundsOf = (
  { reference, subject }: Windows,
  figure: (intervals: readonly number[]) => number,
): Round[] =>
  reference.map((intervals, n) => ({ reference: figure(intervals), subject: figure(subject[n] ?? []) }));

const intervalsOf = (times: readonly number[]): number[] =>
  times.slice(1).map((time, n) => time - (times[n] ?? Number.NaN));

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
