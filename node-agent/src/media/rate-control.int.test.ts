import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { XConnection } from '../display/x-connection.ts';
import { startTestDisplay, type TestDisplay } from './testing/display.ts';
import { transportSequence, writeTransportCc } from './testing/feedback.ts';
import { NativeViewer } from './testing/native-viewer.ts';
import { prepareMessage } from './testing/prepare.ts';
import { UdpRelay } from './testing/udp-relay.ts';
import type { WorkerMessage } from './worker-messages.ts';
import { createMediaWorkerPool, type MediaWorker, type MediaWorkerPool } from './worker-pool.ts';

/**
 * Rate control with everything real but the network, which is a relay in this process, and the viewer's feedback,
 * which its WebRTC library does not send by itself.
 */

const WIDTH = 640;
const HEIGHT = 480;
const FPS = 30;
const LAUNCH_KBPS = 4000;
const SLOW_KBPS = 500;
const FEEDBACK_MS = 60;
const RECTANGLES = 150;

let display: TestDisplay;
let desktop: XConnection;
let drawing: NodeJS.Timeout;
let scratch: string;
let pool: MediaWorkerPool;
let worker: MediaWorker;
let relay: UdpRelay;
let viewer: NativeViewer;
let answering: NodeJS.Timeout;
let events: Extract<WorkerMessage, { type: 'event' }>[];

beforeAll(async () => {
  display = await startTestDisplay(WIDTH, HEIGHT);
  desktop = await XConnection.open(display.name, () => undefined);
  scratch = mkdtempSync(join(tmpdir(), 'rate-control-'));
  pool = createMediaWorkerPool({ size: 1 });
  const gc = desktop.client.AllocID();
  desktop.client.CreateGC(gc, desktop.root, { foreground: 0, graphicsExposures: 0 });
  // Rectangles of random place and colour fill whatever bitrate the encoder has.
  drawing = setInterval(() => {
    for (let i = 0; i < RECTANGLES; i++) {
      const [x, y] = [Math.floor(Math.random() * WIDTH), Math.floor(Math.random() * HEIGHT)];
      desktop.client.ChangeGC(gc, { foreground: Math.floor(Math.random() * 0xffffff) });
      desktop.client.PolyFillRectangle(desktop.root, gc, [x, y, 24, 24]);
    }
  }, 1000 / FPS);
});

afterAll(async () => {
  clearInterval(drawing);
  await pool?.close();
  desktop?.close();
  await display?.close();
  rmSync(scratch, { recursive: true, force: true });
});

beforeEach(async () => {
  worker = await pool.acquire();
  events = [];
  worker.on('event', (message) => events.push(message));
  relay = await UdpRelay.open();
  viewer = new NativeViewer(worker, 1, '22222222-2222-4222-8222-222222222222');
  relay.wire(viewer);
});

afterEach(async () => {
  clearInterval(answering);
  viewer.close();
  worker.kill();
  await worker.exited;
  relay.close();
});

async function connect(settings: Record<string, unknown>): Promise<void> {
  const prepared = new Promise<void>((resolve) => worker.on('prepared', () => resolve()));
  const stream = { width: WIDTH, height: HEIGHT, fps: FPS, bitrate_kbps: LAUNCH_KBPS };
  worker.send(prepareMessage({ display: display.name, scratch }, stream, { settings }));
  await prepared;
  worker.send({ type: 'start' });
  viewer.attach();
  answerFeedback();
  await viewer.until('pictures flow', () => pictures() > 3 * FPS);
}

/** Transport-wide feedback about what arrived, as a browser sends it. */
function answerFeedback(): void {
  const arrivals = new Map<number, number>();
  let next: number | null = null;
  let newest: number | null = null;
  viewer.onVideo = (data) => {
    const sequence = transportSequence(data);
    if (sequence === null) return;
    arrivals.set(sequence, performance.now());
    next ??= sequence;
    newest = sequence;
  };
  answering = setInterval(() => {
    if (next === null || newest === null || arrivals.size === 0) return;
    const count = ((newest - next) & 0xffff) + 1;
    if (count > 2000) return;
    viewer.sendRtcp(writeTransportCc(next, count, (sequence) => arrivals.get(sequence) ?? null));
    next = (newest + 1) & 0xffff;
    arrivals.clear();
  }, FEEDBACK_MS);
}

const pictures = () => viewer.markers;
const setpoints = () =>
  events
    .filter(({ event }) => event === 'abr.retarget')
    .map(({ payload }) => payload as { from_kbps: number; to_kbps: number; reason: string });

test('a link that becomes slow: the rate falls below it, and pictures go on', async () => {
  await connect({});
  expect(setpoints()).toEqual([]);
  relay.limit(SLOW_KBPS, 60_000);
  await viewer.until(
    'the rate is below the link',
    () => (setpoints().at(-1)?.to_kbps ?? 1e9) < SLOW_KBPS,
    20_000,
  );
  expect(setpoints()[0]).toMatchObject({ from_kbps: LAUNCH_KBPS, reason: 'network_down' });
  const before = pictures();
  await viewer.until('pictures go on', () => pictures() - before > FPS, 20_000);
});

test('with abr_mode off the launch bitrate stays', async () => {
  await connect({ abr_mode: 'off' });
  relay.limit(SLOW_KBPS, 60_000);
  const before = viewer.received;
  await viewer.until('the slow link carried something', () => viewer.received - before > 100, 20_000);
  expect(setpoints()).toEqual([]);
});

test('a path that loses a packet in fifty keeps the rate', async () => {
  await connect({});
  relay.loss = 0.02;
  const before = pictures();
  await viewer.until('pictures go on', () => pictures() - before > 3 * FPS, 20_000);
  expect(setpoints().every(({ to_kbps }) => to_kbps > LAUNCH_KBPS / 2)).toBe(true);
});
