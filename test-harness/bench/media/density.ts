/**
 * density: the number of 720p30 sessions with a viewer that one core can run at 29 or more pictures a second. It is
 * compared with the number of the same encoders without a worker. The second figure is the CPU cost of the worker in
 * addition to its encoder. Display, picture and viewers run on the other core. The idle share of that core is printed,
 * because a full core would slow both sides down.
 *
 * In each round a session and a bare encoder run at the same time on a core that has room for both, and are compared in
 * the same seconds: the speed of a machine can vary by a third from one minute to the next, which would hide the
 * difference between the sides. The CPU time per picture gives the number of sessions per core as a fraction. Whole
 * numbers such as three and four would be too coarse to compare. A round counts only if both sides keep 29 pictures a
 * second. It starts after V8 has compiled the worker's code, because the first seconds are not typical of a session.
 *
 * With a software encoder the two marks are related. The worker shares the encoder's core, so a worker with the encoder
 * costs 1.2 times the encoder at a session ratio of 0.83, and 1.05 times at a ratio of 0.95.
 */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { repositoryRoot } from '../../src/stack/program.ts';
import { CORES, cpuMs } from '../api/load.ts';
import { startBareDisplay } from '../display.ts';
import { exitStatus, judge, printLine, printVerdict, type Round, round2 } from '../rounds.ts';
import { ended } from './agent-worker.ts';
import { startMovingPicture } from './moving-picture.ts';
import { startWatchedWorker } from './watched-worker.ts';

const STREAM = {
  width: 1280,
  height: 720,
  fps: 30,
  bitrate_kbps: 4000,
  rungs: [[1280, 720]] as [number, number][],
};
const ENOUGH_FPS = 29;
/** Warm-up time until V8 has compiled the code that runs for every picture. */
const WARM_MS = 8_000;
const MEASURE_MS = 5_000;
const MARKS = { sessions: 0.95, cpu: 1.2 };

/** A running encoder. */
interface Encoding {
  readonly pid: number;
  /** Number of pictures since the start. */
  pictures(): Promise<number>;
  close(): Promise<void>;
}

export async function benchDensity(rounds: number): Promise<number> {
  execFileSync('taskset', ['-acp', String(CORES.load), String(process.pid)], { stdio: 'ignore' });
  const display = await startBareDisplay(STREAM);
  const picture = await startMovingPicture(display.name, STREAM);
  try {
    const cpu = await compare(
      rounds,
      () => startBareEncoder(display.name),
      () => startSession(display.name),
    );
    const sessions = cpu.map(({ reference, subject }) => ({
      reference: carried(reference),
      subject: carried(subject),
    }));
    const judgements = [
      judge('density-sessions', sessions, (ratio) => ratio >= MARKS.sessions, 'sessions'),
      // Ratio of the worker's CPU time to the bare encoder's: the part above 1 is Footlight's.
      judge('density-cpu', cpu, (ratio) => ratio <= MARKS.cpu, 'ms of CPU a picture'),
    ];
    for (const judgement of judgements) printVerdict(judgement);
    return Math.max(...judgements.map(({ verdict }) => exitStatus(verdict)));
  } finally {
    await picture.stop();
    await display.stop();
  }
}

/** @returns number of sessions, with the fraction, that the core's time allows */
function carried(msPerPicture: number): number {
  return 1000 / msPerPicture / ENOUGH_FPS;
}

/**
 * Runs a session and a bare encoder at the same time; the first round is discarded.
 * @returns CPU per picture in milliseconds
 */
async function compare(
  rounds: number,
  bare: () => Promise<Encoding>,
  session: () => Promise<Encoding>,
): Promise<Round[]> {
  const kept: Round[] = [];
  for (let round = 0; round <= rounds; round++) {
    const running: Encoding[] = [];
    try {
      // Alternates the order of the starts.
      const isBareFirst = round % 2 === 0;
      for (const start of isBareFirst ? [bare, session] : [session, bare]) running.push(await start());
      if (!isBareFirst) running.reverse();
      await pause(WARM_MS);
      const { fps, msPerPicture, otherCoreFree } = await measure(running, MEASURE_MS);
      if (Math.min(...fps) < ENOUGH_FPS)
        throw new Error(`Too slow or too busy for one of each: ${fps} a second`);
      const [reference = Number.NaN, subject = Number.NaN] = msPerPicture;
      printLine({
        bench: 'density',
        round,
        discarded: round === 0,
        reference: round2(reference),
        subject: round2(subject),
        otherCoreFree: round2(otherCoreFree),
      });
      if (round > 0) kept.push({ reference, subject });
    } finally {
      await Promise.all(running.map((encoding) => encoding.close()));
    }
  }
  return kept;
}

interface Measurement {
  /** Pictures per second of each encoder. */
  fps: number[];
  msPerPicture: number[];
  /** Idle share of the other core, 0–1. */
  otherCoreFree: number;
}

async function measure(running: readonly Encoding[], forMs: number): Promise<Measurement> {
  const look = async () => ({
    atMs: performance.now(),
    pictures: await Promise.all(running.map((encoding) => encoding.pictures())),
    cpuMs: running.map(({ pid }) => cpuMs(pid)),
    otherCore: coreTicks(CORES.load),
  });
  const before = await look();
  await pause(forMs);
  const after = await look();
  const counts = after.pictures.map((count, i) => count - (before.pictures[i] ?? count));
  const ticks = after.otherCore.all - before.otherCore.all;
  return {
    fps: counts.map((count) => (count * 1000) / (after.atMs - before.atMs)),
    msPerPicture: counts.map((count, i) => ((after.cpuMs[i] ?? 0) - (before.cpuMs[i] ?? 0)) / count),
    otherCoreFree: (after.otherCore.idle - before.otherCore.idle) / ticks,
  };
}

/** Total and idle time of a core since boot, in kernel ticks (/proc/stat, man 5 proc). */
function coreTicks(core: number): { idle: number; all: number } {
  const line = readFileSync('/proc/stat', 'utf8')
    .split('\n')
    .find((text) => text.startsWith(`cpu${core} `));
  // user, nice, system, idle, iowait, irq, softirq, steal
  const ticks = (line ?? '').split(/\s+/).slice(1, 9).map(Number);
  const [, , , idle = 0, iowait = 0] = ticks;
  return { idle: idle + iowait, all: ticks.reduce((sum, value) => sum + value, 0) };
}

async function startBareEncoder(display: string): Promise<Encoding> {
  const { width, height, fps, bitrate_kbps } = STREAM;
  const script = path.join(repositoryRoot, 'test-harness', 'bench', 'media', 'bare-encoder.py');
  const child = spawn(
    'taskset',
    [
      ...['-c', String(CORES.server), '/usr/bin/python3', script, display],
      ...[width, height, fps, bitrate_kbps].map(String),
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const encoding = {
    pid: child.pid ?? 0,
    async pictures() {
      child.stdin.write('\n');
      const { value, done } = await lines.next();
      if (done) throw new Error('The bare encoder ended');
      return Number(value);
    },
    close: () => ended(child),
  };
  // The first answer arrives once the encoder runs.
  await encoding.pictures();
  return encoding;
}

/** Media worker with a viewer. */
async function startSession(display: string): Promise<Encoding> {
  const worker = await startWatchedWorker({ display, core: CORES.server, stream: STREAM });
  return { pid: worker.pid, pictures: async () => worker.pictures, close: () => worker.close() };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
