/**
 * guests: the CPU time of a media worker per picture while a guest watches too, compared with a window in which only the
 * owner watches. One encoder serves both, so a guest costs only the packets, their encryption and their sending. The
 * windows alternate within one session, because the speed of a machine varies by up to a third from one minute to the
 * next. Display, picture and viewers run on the other core.
 */
import { execFileSync } from 'node:child_process';
import { CORES, cpuMs } from '../api/load.ts';
import { startBareDisplay } from '../display.ts';
import { exitStatus, judge, printLine, printVerdict, type Round, round2 } from '../rounds.ts';
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
/** Largest CPU time of a session with a guest, relative to the session without one. */
const MARK = 1.15;
/** Warm-up time until V8 has compiled the code that runs for every picture. */
const WARM_MS = 8_000;
/** The handshake of a guest's connection is not a part of the window. */
const SETTLE_MS = 1_000;
const MEASURE_MS = 5_000;

export async function benchGuests(rounds: number): Promise<number> {
  execFileSync('taskset', ['-acp', String(CORES.load), String(process.pid)], { stdio: 'ignore' });
  const display = await startBareDisplay(STREAM);
  const picture = await startMovingPicture(display.name, STREAM);
  const worker = await startWatchedWorker({ display: display.name, core: CORES.server, stream: STREAM });
  try {
    await pause(WARM_MS);
    const kept: Round[] = [];
    for (let round = 0; round <= rounds; round++) {
      const alone = () => measure(worker);
      const together = async () => {
        await worker.addGuest();
        const before = worker.guestPictures;
        const ms = await measure(worker);
        if (worker.guestPictures === before) throw new Error('The guest got no pictures');
        worker.removeGuest();
        return ms;
      };
      // Alternates the order.
      const first = round % 2 === 0 ? await alone() : await together();
      const second = round % 2 === 0 ? await together() : await alone();
      const [reference, subject] = round % 2 === 0 ? [first, second] : [second, first];
      printLine({
        bench: 'guests',
        round,
        discarded: round === 0,
        reference: round2(reference),
        subject: round2(subject),
      });
      if (round > 0) kept.push({ reference, subject });
    }
    const judgement = judge('guests', kept, (ratio) => ratio <= MARK, 'ms of CPU a picture');
    printVerdict(judgement);
    return exitStatus(judgement.verdict);
  } finally {
    await worker.close();
    await picture.stop();
    await display.stop();
  }
}

/** @returns CPU time of the worker per picture of the owner, ms */
async function measure(worker: WatchedWorker): Promise<number> {
  await pause(SETTLE_MS);
  const [cpu, pictures] = [cpuMs(worker.pid), worker.pictures];
  await pause(MEASURE_MS);
  return (cpuMs(worker.pid) - cpu) / (worker.pictures - pictures);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
