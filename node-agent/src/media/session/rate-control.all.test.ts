import { seededRandom } from '@footlight/platform/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { transportSequence, writeTransportCc } from '../testing/feedback.ts';
import type { NativeViewer } from '../testing/native-viewer.ts';
import { TestHost, type TestSession } from '../testing/test-host.ts';
import { UdpRelay } from '../testing/udp-relay.ts';

/**
 * Tests rate control with real components, except two: the network is a relay in this process, and the test writes the
 * viewer's feedback, because the viewer's WebRTC library sends none.
 */

const WIDTH = 640;
const HEIGHT = 480;
const FPS = 30;
const LAUNCH_KBPS = 4000;
const SLOW_KBPS = 500;
const FEEDBACK_MS = 60;
const RECTANGLES = 150;

let host: TestHost;
let drawing: NodeJS.Timeout;
let session: TestSession;
let relay: UdpRelay;
let viewer: NativeViewer;
let answering: NodeJS.Timeout;

beforeAll(async () => {
  host = await TestHost.open({ width: WIDTH, height: HEIGHT });
  const { desktop } = host;
  const gc = desktop.client.AllocID();
  desktop.client.CreateGC(gc, desktop.root, { foreground: 0, graphicsExposures: 0 });
  // Rectangles with random positions and colours, because they fill any bitrate of the encoder.
  const random = seededRandom(1);
  const below = (limit: number) => Math.floor(random.number() * limit);
  drawing = setInterval(() => {
    for (let i = 0; i < RECTANGLES; i++) {
      desktop.client.ChangeGC(gc, { foreground: below(0xffffff) });
      desktop.client.PolyFillRectangle(desktop.root, gc, [below(WIDTH), below(HEIGHT), 24, 24]);
    }
  }, 1000 / FPS);
});

beforeEach(async () => {
  session = await host.session();
  relay = await UdpRelay.open();
  viewer = session.viewer();
  relay.wire(viewer);
});

afterEach(async () => {
  clearInterval(answering);
  await host.clear();
  relay.close();
});

afterAll(async () => {
  clearInterval(drawing);
  await host?.close();
});

async function connect(settings: Record<string, unknown>): Promise<void> {
  session.prepare({ fps: FPS, bitrate_kbps: LAUNCH_KBPS }, { settings });
  await session.first('prepared');
  session.worker.send({ type: 'start' });
  viewer.attach();
  answerFeedback();
  await viewer.until('pictures flow', () => pictures() > 3 * FPS);
}

/** Sends transport-wide feedback about the packets that arrived, like a browser. */
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
  session.told('abr.retarget') as { from_kbps: number; to_kbps: number; reason: string }[];

test('a link that becomes slow: the rate falls below the link’s, and pictures continue', async () => {
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
