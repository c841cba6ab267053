/** loss: pictures and rate with 2 % and 5 % random packet loss, compared with the same path without loss. */
import { alternate, exitStatus, judge, printVerdict } from '../rounds.ts';
import { openRelayPath } from './slow-path.ts';
import { openWorkerViewer, type WorkerViewer } from './worker-viewer.ts';

const STREAM = {
  width: 1280,
  height: 720,
  fps: 30,
  bitrate_kbps: 4000,
  rungs: [[1280, 720]] as [number, number][],
};
const SETTLE_MS = 3_000;
const MEASURE_MS = 8_000;
const FIGURES = ['fps', 'rate'] as const;
const MARKS = { fps: 0.95, rate: 0.8 };

/** @param losses shares of lost packets, 0–1, measured in turn */
export async function benchLoss(rounds: number, losses: readonly number[]): Promise<number> {
  let status = 0;
  for (const loss of losses) {
    const names = FIGURES.map((name) => `loss-${Math.round(loss * 100)}-${name}`);
    const kept = await alternate(
      rounds,
      { reference: () => measure(0), subject: () => measure(loss) },
      names,
    );
    FIGURES.forEach((name, i) => {
      const judgement = judge(names[i] ?? name, kept[i] ?? [], (ratio) => ratio >= MARKS[name]);
      printVerdict({ ...judgement, mark: MARKS[name] });
      status = Math.max(status, exitStatus(judgement.verdict));
    });
  }
  return status;
}

/** @returns pictures per second, and received kbit/s */
async function measure(loss: number): Promise<number[]> {
  const slowPath = await openRelayPath(loss);
  let viewer: WorkerViewer | null = null;
  try {
    viewer = await openWorkerViewer({ path: slowPath, settings: {}, stream: STREAM });
    await pause(SETTLE_MS);
    await viewer.take();
    await pause(MEASURE_MS);
    const { pictures, received } = await viewer.take();
    if (viewer.failures.length > 0) throw new Error(`The worker failed: ${viewer.failures.join('; ')}`);
    const first = received[0];
    const last = received.at(-1);
    if (!first || !last) throw new Error('The page received nothing');
    const kbps = ((last.bytes - first.bytes) * 8) / (last.atMs - first.atMs);
    return [(pictures.length * 1000) / MEASURE_MS, kbps];
  } finally {
    await viewer?.close();
    slowPath.close();
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
