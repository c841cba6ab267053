/**
 * density: how many sessions of 720p30 one core carries at 29 pictures a second and more, each with a viewer, against
 * the same encoders that send nothing; and what the worker costs beyond them. Display, picture and viewers have the
 * other core.
 */
import { execFileSync, spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { ViewerConnection } from '../src/fake-viewer/connection.ts';
import { repositoryRoot } from '../src/stack/program.ts';
import { ended, START_LIMIT_MS, startAgentWorker } from './agent-worker.ts';
import { startBareDisplay } from './display.ts';
import { CORES, cpuMs } from './load.ts';
import { startMovingPicture } from './moving-picture.ts';
import { alternate, exitStatus, judge, printLine } from './rounds.ts';

const STREAM = {
  width: 1280,
  height: 720,
  fps: 30,
  bitrate_kbps: 4000,
  rungs: [[1280, 720]] as [number, number][],
};
const ENOUGH_FPS = 29;
const MAX_SESSIONS = 24;
/** At so many sessions the CPU is compared: some are there, and the core is not full. */
const COMPARED_SESSIONS = 2;
const SETTLE_MS = 1_500;
const MEASURE_MS = 2_500;
const MARKS = { sessions: 0.95, cpu: 1.2 };

/** One encoder at work. */
interface Encoding {
  readonly pid: number;
  /** Pictures since the start (count). */
  pictures(): Promise<number>;
  close(): Promise<void>;
}

export async function benchDensity(rounds: number): Promise<number> {
  execFileSync('taskset', ['-acp', String(CORES.load), String(process.pid)], { stdio: 'ignore' });
  const display = await startBareDisplay(STREAM);
  const picture = await startMovingPicture(display.name, STREAM);
  try {
    const [sessions = [], cpu = []] = await alternate(
      rounds,
      {
        reference: () => fill(() => startBareEncoder(display.name)),
        subject: () => fill(() => startSession(display.name)),
      },
      ['density-sessions', 'density-cpu'],
    );
    const judgements = [
      judge('density-sessions', sessions, (ratio) => ratio >= MARKS.sessions),
      // All of the worker's CPU against all of the bare encoder's: what is over 1 is ours.
      judge('density-cpu', cpu, (ratio) => ratio <= MARKS.cpu),
    ];
    for (const judgement of judgements) printLine(judgement);
    return Math.max(...judgements.map(({ verdict }) => exitStatus(verdict)));
  } finally {
    await picture.stop();
    await display.stop();
  }
}

/** Starts one after the other until one is too slow. @returns how many were not, and CPU per picture, milliseconds */
async function fill(start: () => Promise<Encoding>): Promise<number[]> {
  const running: Encoding[] = [];
  let cpuPerPictureMs = Number.NaN;
  try {
    while (running.length < MAX_SESSIONS) {
      running.push(await start());
      await pause(SETTLE_MS);
      const { slowestFps, cpuMs, pictures } = await measure(running);
      if (running.length === COMPARED_SESSIONS) cpuPerPictureMs = cpuMs / pictures;
      if (slowestFps < ENOUGH_FPS) return [running.length - 1, cpuPerPictureMs];
    }
    return [running.length, cpuPerPictureMs];
  } finally {
    await Promise.all(running.map((encoding) => encoding.close()));
  }
}

async function measure(running: readonly Encoding[]) {
  const look = async () => {
    const pictures = await Promise.all(running.map((encoding) => encoding.pictures()));
    return {
      atMs: performance.now(),
      pictures,
      cpuMs: running.reduce((sum, { pid }) => sum + cpuMs(pid), 0),
    };
  };
  const before = await look();
  await pause(MEASURE_MS);
  const after = await look();
  const counts = after.pictures.map((count, i) => count - (before.pictures[i] ?? count));
  return {
    slowestFps: (Math.min(...counts) * 1000) / (after.atMs - before.atMs),
    cpuMs: after.cpuMs - before.cpuMs,
    pictures: counts.reduce((sum, count) => sum + count, 0),
  };
}

async function startBareEncoder(display: string): Promise<Encoding> {
  const { width, height, fps, bitrate_kbps } = STREAM;
  const script = path.join(repositoryRoot, 'test-harness', 'bench', 'bare-encoder.py');
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
  // The first answer comes when it runs.
  await encoding.pictures();
  return encoding;
}

/** A media worker whose picture somebody receives. */
async function startSession(display: string): Promise<Encoding> {
  const worker = startAgentWorker(CORES.server);
  let pictures = 0;
  let viewer: ViewerConnection | null = null;
  const signal = (msg: object) => worker.send({ type: 'signal', conn: 1, msg });
  worker.onMessage(({ type, msg }) => {
    if (type !== 'signal') return;
    if (msg.type === 'candidate') viewer?.addCandidate(msg.candidate, msg.mid);
    if (msg.type !== 'offer') return;
    const { pc_id } = msg;
    viewer = new ViewerConnection(
      msg,
      [],
      {
        onAnswer: (sdp) => signal({ type: 'answer', pc_id, sdp }),
        onCandidate: (candidate, mid) => signal({ type: 'candidate', pc_id, candidate, mid }),
        onState: () => undefined,
        onOpen: () => undefined,
        onMessage: () => undefined,
        onRtp: (_, packet) => {
          if (((packet[1] ?? 0) & 0x80) !== 0 && ((packet[1] ?? 0) & 0x7f) >= 96) pictures++;
        },
      },
      (sdp) => sdp,
    );
  });
  const close = async () => {
    viewer?.close();
    await worker.close();
  };
  try {
    // The encoder beside it has one rate as well.
    await worker.begin({ display, stream: STREAM, settings: { abr_mode: 'off' }, addresses: null });
    worker.attach();
    const limitMs = performance.now() + START_LIMIT_MS;
    while (pictures === 0) {
      if (performance.now() > limitMs) throw new Error('The viewer never saw a picture');
      await pause(50);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { pid: worker.pid, pictures: async () => pictures, close };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
