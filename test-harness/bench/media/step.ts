/**
 * step: a link that falls from 5 to 0.5 Mbit/s and recovers, with a queue of 60 kB. The bench runs with the default
 * settings, with the ladder, and for comparison at a fixed rate.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { repositoryRoot } from '../../src/stack/program.ts';
import { median, percentile, printLine, printVerdict, round2 } from '../rounds.ts';
import { type Curve, drawCurves } from './curve.ts';
import { openNamespacePath, openRelayPath, type SlowPath } from './slow-path.ts';
import { openWorkerViewer, type PageRecord, type WorkerViewer } from './worker-viewer.ts';

const FAST_KBPS = 5000;
const SLOW_KBPS = 500;
const STREAM = {
  width: 1280,
  height: 720,
  fps: 60,
  // With headers and the link's own framing this stays below the link's 5 Mbit/s.
  bitrate_kbps: 4000,
  rungs: [
    [1280, 720],
    [960, 540],
    [640, 360],
  ] as [number, number][],
};
const SETTLE_MS = 6_000;
const SLOW_MS = 8_000;
const BACK_MS = 7_000;
const ENOUGH_FPS = 24;
const MARKS = { gapMedianMs: 500, gapWorstMs: 1_000, fpsWithinMs: 2_000, rateWithinMs: 4_000 };

type RunName = 'fixed' | 'defaults' | 'ladder';

interface Run {
  name: RunName;
  settings: Record<string, unknown>;
  rounds: number;
  judged: readonly ('gap' | 'fps' | 'rate')[];
}

interface StepFigures {
  gapMs: number;
  /** Time from the fall to the start of a second with enough pictures; null = never. */
  fpsAfterMs: number | null;
  /**
   * Time from the link's recovery until the rate reaches 90 % of the rate before the fall; null = not reached within
   * the measurement.
   */
  rateAfterMs: number | null;
}

export async function benchStep(rounds: number, names: readonly RunName[]): Promise<number> {
  const runs: Run[] = [
    { name: 'fixed', settings: { abr_mode: 'off' }, rounds: Math.min(2, rounds), judged: [] },
    { name: 'defaults', settings: {}, rounds, judged: ['gap', 'rate'] },
    {
      name: 'ladder',
      settings: { abr_ladder_resolution: true, abr_ladder_fps: true, abr_ladder_res_min_height: 360 },
      rounds,
      judged: ['gap', 'fps', 'rate'],
    },
  ];
  let status = 0;
  for (const run of runs.filter(({ name }) => names.includes(name)))
    status = Math.max(status, await measure(run));
  return status;
}

async function measure(run: Run): Promise<number> {
  const slowPath = openNamespacePath() ?? (await openRelayPath());
  let viewer: WorkerViewer | null = null;
  try {
    slowPath.setRate(FAST_KBPS);
    viewer = await openWorkerViewer({ path: slowPath, settings: run.settings, stream: STREAM });
    await pause(SETTLE_MS);
    const figures: StepFigures[] = [];
    for (let round = 0; round < run.rounds; round++) {
      const { step, startedAtMs, downAtMs, upAtMs, record } = await oneStep(viewer, slowPath);
      figures.push(step);
      printLine({ bench: 'step', run: run.name, path: slowPath.kind, round, ...rounded(step) });
      if (round === 0) saveCurve(run, viewer, record, startedAtMs, downAtMs, upAtMs);
      if (viewer.failures.length > 0) throw new Error(`The worker failed: ${viewer.failures.join('; ')}`);
    }
    return judge(run, figures);
  } finally {
    await viewer?.close();
    slowPath.close();
  }
}

async function oneStep(viewer: WorkerViewer, slowPath: SlowPath) {
  await viewer.take();
  const startedAtMs = Date.now();
  await pause(1_000);
  // The configured rate, not the rate measured at the fall: if the measured rate was already low, a return to it would
  // be no recovery.
  const before = STREAM.bitrate_kbps;
  const downAtMs = Date.now();
  slowPath.setRate(SLOW_KBPS);
  await pause(SLOW_MS);
  const upAtMs = Date.now();
  slowPath.setRate(FAST_KBPS);
  await pause(BACK_MS);
  const record = await viewer.take();
  const back = viewer.setpoints.find(({ atMs, kbps }) => atMs >= upAtMs && kbps >= 0.9 * before);
  const held = viewer.setpoints.findLast(({ atMs }) => atMs < upAtMs)?.kbps ?? before;
  const step: StepFigures = {
    gapMs: longestGap(record.pictures, downAtMs, upAtMs),
    fpsAfterMs: enoughAfter(record.pictures, downAtMs, upAtMs),
    // A rate that did not fall has no recovery time.
    rateAfterMs: held >= 0.9 * before ? 0 : back ? back.atMs - upAtMs : null,
  };
  return { step, startedAtMs, downAtMs, upAtMs, record };
}

function longestGap(pictures: readonly number[], fromMs: number, toMs: number): number {
  const seen = [fromMs, ...pictures.filter((at) => at >= fromMs && at <= toMs), toMs];
  return Math.max(...seen.slice(1).map((at, i) => at - (seen[i] ?? at)));
}

function enoughAfter(pictures: readonly number[], fromMs: number, toMs: number): number | null {
  for (let at = fromMs; at + 1_000 <= toMs; at += 50) {
    if (pictures.filter((shown) => shown >= at && shown < at + 1_000).length >= ENOUGH_FPS)
      return at - fromMs;
  }
  return null;
}

function judge(run: Run, figures: readonly StepFigures[]): number {
  const of = (key: keyof StepFigures) => figures.map((figure) => figure[key] ?? Number.POSITIVE_INFINITY);
  const [gaps, fps, rates] = [of('gapMs'), of('fpsAfterMs'), of('rateAfterMs')];
  const met = {
    gap: median(gaps) <= MARKS.gapMedianMs && Math.max(...gaps) <= MARKS.gapWorstMs,
    fps: median(fps) <= MARKS.fpsWithinMs,
    rate: median(rates) <= MARKS.rateWithinMs,
  };
  const missed = run.judged.filter((name) => !met[name]);
  printVerdict({
    bench: 'step',
    run: run.name,
    rounds: figures.length,
    gapMedianMs: round2(median(gaps)),
    gapWorstMs: round2(Math.max(...gaps)),
    fpsAfterMedianMs: finite(median(fps)),
    rateAfterMedianMs: finite(percentile(rates, 0.5)),
    rateAfterWorstMs: finite(Math.max(...rates)),
    verdict:
      run.judged.length === 0
        ? 'for comparison'
        : missed.length === 0
          ? 'met'
          : `missed: ${missed.join(', ')}`,
  });
  return missed.length === 0 ? 0 : 1;
}

function saveCurve(
  run: Run,
  viewer: WorkerViewer,
  { received }: PageRecord,
  startedAtMs: number,
  downAtMs: number,
  upAtMs: number,
): void {
  const seconds = (atMs: number) => (atMs - startedAtMs) / 1000;
  const endS = (SLOW_MS + BACK_MS) / 1000 + 1;
  const arrived = received.slice(1).map(({ atMs, bytes }, i): [number, number] => {
    const last = received[i];
    return [seconds(atMs), last ? ((bytes - last.bytes) * 8) / (atMs - last.atMs) : 0];
  });
  const first = viewer.setpoints.findLast(({ atMs }) => atMs < startedAtMs)?.kbps ?? STREAM.bitrate_kbps;
  const setpoints = viewer.setpoints.filter(({ atMs }) => atMs >= startedAtMs);
  const curves: Curve[] = [
    {
      name: 'link',
      colour: '#999',
      stepped: true,
      points: [
        [0, FAST_KBPS],
        [seconds(downAtMs), SLOW_KBPS],
        [seconds(upAtMs), FAST_KBPS],
        [endS, FAST_KBPS],
      ],
    },
    { name: 'received', colour: '#3182bd', points: arrived },
    {
      name: 'setpoint',
      colour: '#e6550d',
      stepped: true,
      points: [
        [0, first],
        ...setpoints.map(({ atMs, kbps }): [number, number] => [seconds(atMs), kbps]),
        [endS, setpoints.at(-1)?.kbps ?? first],
      ],
    },
  ];
  const directory = path.join(repositoryRoot, 'test-results');
  mkdirSync(directory, { recursive: true });
  const file = path.join(directory, `step-${run.name}.svg`);
  writeFileSync(file, drawCurves(`step, ${run.name}`, curves, endS, 6_000));
  printLine({ bench: 'step', run: run.name, curve: path.relative(repositoryRoot, file) });
}

function rounded({ gapMs, fpsAfterMs, rateAfterMs }: StepFigures) {
  return { gapMs: round2(gapMs), fpsAfterMs, rateAfterMs };
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? round2(value) : null;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
