/**
 * timing: the cost of click to photon. Media workers with and without the measurement run at the same time on one core
 * and are compared in the same seconds. A third worker reports every frame. Its cost shows the cost of one report,
 * because the usual ten reports a second cost less than the noise. The page's code runs alone, with the rates of a
 * stream while a person types. The cost is compared with the CPU time of a session's media worker and its part of the
 * display server. App and browser use several times as much CPU time and are not counted.
 */
import { execFileSync } from 'node:child_process';
import { decodeInput, encodeControl, encodeFrame, encodeKey } from '@footlight/protocol/input';
import { ClickToPhoton } from '../../../packages/stream-client/src/stats/delay/click-to-photon.ts';
import { CORES, cpuMs } from '../api/load.ts';
import { type BareDisplay, startBareDisplay } from '../display.ts';
import { median, printLine, printVerdict, round2 } from '../rounds.ts';
import { startMovingPicture } from './moving-picture.ts';
import { startWatchedWorker, type WatchedWorker } from './watched-worker.ts';

/** The same stream as in the bench `density`. */
const STREAM = {
  width: 1280,
  height: 720,
  fps: 30,
  bitrate_kbps: 4000,
  rungs: [[1280, 720]] as [number, number][],
};
/** Largest allowed share of the session's CPU time. */
const MARK = 0.01;
/** Key presses per second of a person who types fast; a release follows each press. */
const PRESSES = 5;
const WARM_MS = 8_000;
const MEASURE_MS = 5_000;
/** Measured windows per start of the workers. */
const WINDOWS = 4;
const WITHOUT = 'test-harness/bench/media/without-frame-timing.ts';
const FRAME_KIND = 0x30;
const KEY_A = 30;

type Side = 'without' | 'usual' | 'every';
const SIDES: readonly Side[] = ['without', 'usual', 'every'];

interface Running {
  side: Side;
  worker: WatchedWorker;
  /** timing messages that the viewer received */
  reports(): number;
  close(): Promise<void>;
}

/**
 * One window: for each side its CPU time per picture and its timing messages per second, and for all sides together the
 * display server's CPU time per second.
 */
interface Window {
  sides: Record<Side, { msPerPicture: number; reports: number }>;
  displayMs: number;
}

export async function benchTiming(rounds: number): Promise<number> {
  execFileSync('taskset', ['-acp', String(CORES.load), String(process.pid)], { stdio: 'ignore' });
  const display = await startBareDisplay(STREAM);
  const picture = await startMovingPicture(display.name, STREAM);
  try {
    const windows: Window[] = [];
    for (let round = 0; round < rounds; round++) {
      // Alternates the order of the starts.
      const order = SIDES.map((_, index) => SIDES[(index + round) % SIDES.length] as Side);
      windows.push(...(await measureRound(display, order, round)));
    }
    return verdict(windows, pageMsPerSecond());
  } finally {
    await picture.stop();
    await display.stop();
  }
}

function verdict(windows: readonly Window[], pageMs: number): number {
  const extra = (side: Side) =>
    windows.map(({ sides }) => sides[side].msPerPicture / sides.without.msPerPicture - 1);
  const reports = (side: Side) => median(windows.map(({ sides }) => sides[side].reports));
  const workerMs = median(windows.map(({ sides }) => sides.without.msPerPicture)) * STREAM.fps;
  const displayMs = median(windows.map((window) => window.displayMs)) / SIDES.length;
  // Each report is the same work, so the cost of the usual reports is proportional to their number.
  const reportMs = (median(extra('every')) * workerMs) / reports('every');
  const share = (reportMs * reports('usual') + pageMs) / (workerMs + displayMs);
  printVerdict({
    bench: 'timing',
    rounds: windows.length,
    shareOfTheSession: percent(share),
    msPerReport: Number(reportMs.toFixed(3)),
    reportsPerSecond: round2(reports('usual')),
    pageMsPerSecond: Number(pageMs.toFixed(3)),
    sessionMsPerSecond: round2(workerMs + displayMs),
    workerWithEveryReport: percent(median(extra('every'))),
    workerWithTheUsual: percent(median(extra('usual'))),
    ratioMin: percent(Math.min(...extra('usual'))),
    ratioMax: percent(Math.max(...extra('usual'))),
    mark: '1 %',
    verdict: share < MARK ? 'met' : 'missed',
  });
  return share < MARK ? 0 : 1;
}

const percent = (share: number) => `${round2(share * 100)} %`;

async function measureRound(display: BareDisplay, order: readonly Side[], round: number): Promise<Window[]> {
  const running: Running[] = [];
  try {
    for (const side of order) running.push(await start(display.name, side));
    await pause(WARM_MS);
    const windows: Window[] = [];
    for (let index = 0; index < WINDOWS; index++) {
      const window = await measure(running, display.pid);
      windows.push(window);
      const line = Object.fromEntries(SIDES.map((side) => [side, round2(window.sides[side].msPerPicture)]));
      printLine({ bench: 'timing', round, window: index, ...line });
    }
    return windows;
  } finally {
    await Promise.all(running.map(({ close }) => close()));
  }
}

async function start(display: string, side: Side): Promise<Running> {
  let reports = 0;
  const worker = await startWatchedWorker({
    display,
    core: CORES.server,
    stream: STREAM,
    preload: side === 'without' ? [WITHOUT] : [],
    onMessage: (channel, message) => {
      if (channel === 'motion' && typeof message !== 'string' && message[0] === FRAME_KIND) reports++;
    },
  });
  if (side === 'every') worker.send('control', encodeControl({ type: 'frame_timing', enabled: true }));
  let seq = 0;
  const typing = setInterval(() => {
    const down = seq % 2 === 0;
    worker.send('input', encodeKey({ seq: ++seq, t: seq, code: KEY_A, down, locks: 0 }));
  }, 500 / PRESSES);
  const close = async () => {
    clearInterval(typing);
    await worker.close();
  };
  return { side, worker, reports: () => reports, close };
}

async function measure(running: readonly Running[], displayPid: number): Promise<Window> {
  const look = () => ({
    atMs: performance.now(),
    displayMs: cpuMs(displayPid),
    workers: running.map(({ worker, reports }) => ({
      pictures: worker.pictures,
      cpuMs: cpuMs(worker.pid),
      reports: reports(),
    })),
  });
  const before = look();
  await pause(MEASURE_MS);
  const after = look();
  const seconds = (after.atMs - before.atMs) / 1000;
  const sides = running.map(({ side }, index) => {
    const [from, to] = [before.workers[index], after.workers[index]];
    if (from === undefined || to === undefined) throw new Error('a side is missing');
    const msPerPicture = (to.cpuMs - from.cpuMs) / (to.pictures - from.pictures);
    return [side, { msPerPicture, reports: (to.reports - from.reports) / seconds }];
  });
  return {
    sides: Object.fromEntries(sides) as Window['sides'],
    displayMs: (after.displayMs - before.displayMs) / seconds,
  };
}

/** CPU of the page's part per second of a stream at 60 fps, milliseconds, measured over an hour of stream time. */
function pageMsPerSecond(): number {
  const [seconds, fps] = [3_600, 60];
  const clicks = new ClickToPhoton();
  const report = (seq: number, rtp: number) =>
    encodeFrame({
      seq,
      t: 0,
      rtp_timestamp: rtp,
      encode_ms: 4,
      capture_ms: 1.7e12,
      input_seq: seq,
      input_rtp_timestamp: rtp,
      motion_seq: 0,
    });
  // Twelve reports a second; half of them are for a press.
  const reports = Array.from({ length: seconds * 12 }, (_, index) => report(index, index * 7_500));
  let completed = 0;
  const before = process.cpuUsage();
  for (let frame = 0; frame < seconds * fps; frame++) {
    if (frame % 10 === 0) clicks.press(frame / 5, frame * 16);
    clicks.frame(frame * 1_500, frame * 16 + 40);
    const bytes = frame % 5 === 0 ? reports[frame / 5] : undefined;
    const decoded = bytes && decodeInput(bytes, 'motion', 'viewer');
    if (decoded?.kind === 'message' && decoded.message.kind === 'frame')
      clicks.contained(decoded.message.input_seq, decoded.message.input_rtp_timestamp);
    if (frame % fps === 0) completed += clicks.take()?.click_to_photon_n ?? 0;
  }
  const { user, system } = process.cpuUsage(before);
  if (completed < seconds * 5) throw new Error(`Only ${completed} presses were measured`);
  return (user + system) / 1_000 / seconds;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
