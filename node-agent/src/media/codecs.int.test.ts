import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { XConnection } from '../display/x-connection.ts';
import { probeEncoders } from './encode/encoder-probe.ts';
import { isKeyframe } from './keyframe.ts';
import { codecPreload } from './testing/codec-preload.ts';
import { decodeMiddles, framesOf } from './testing/decode.ts';
import { startTestDisplay, type TestDisplay } from './testing/display.ts';
import { NativeViewer } from './testing/native-viewer.ts';
import { prepareMessage } from './testing/prepare.ts';
import './testing/codec-encoders.ts';
import type { WorkerMessage } from './worker-messages.ts';
import { createMediaWorkerPool, type MediaWorker, type MediaWorkerPool } from './worker-pool.ts';

/** Encoders of these codecs in software, which only tests have; everything around them is the product's. */
const SIZE = { width: 320, height: 240 };
const ALICE = '22222222-2222-4222-8222-222222222222';
const BLUE = [0x20, 0x40, 0x90] as const;

let display: TestDisplay;
let desktop: XConnection;
let scratch: string;
let pool: MediaWorkerPool;
let worker: MediaWorker | null = null;
let alice: NativeViewer | null = null;
let said: WorkerMessage[];

beforeAll(async () => {
  display = await startTestDisplay(SIZE.width, SIZE.height);
  scratch = mkdtempSync(join(tmpdir(), 'codecs-'));
  desktop = await XConnection.open(display.name, () => undefined);
  const { client, root } = desktop;
  const window = client.AllocID();
  const [red, green, blue] = BLUE;
  client.CreateWindow(window, root, 0, 0, SIZE.width, SIZE.height, 0, 0, 1, 0, {
    backgroundPixel: (red << 16) | (green << 8) | blue,
  });
  client.MapWindow(window);
  await desktop.settle();
  pool = createMediaWorkerPool({ size: 1, env: { NODE_OPTIONS: codecPreload() } });
});

afterEach(async () => {
  alice?.close();
  worker?.kill();
  await worker?.exited;
});

afterAll(async () => {
  await pool?.close();
  desktop?.close();
  await display?.close();
  rmSync(scratch, { recursive: true, force: true });
});

async function watch(codec: 'h265' | 'av1'): Promise<NativeViewer> {
  worker = await pool.acquire();
  said = [];
  for (const type of ['encoding', 'event', 'failure'] as const)
    worker.on(type, (message) => said.push(message));
  // No keyframe comes by itself from an encoder that can be asked for one.
  const on = { display: display.name, scratch };
  const stream = { ...SIZE, fps: 15, bitrate_kbps: 800, codec, playout0_ms: 50 };
  worker.send(prepareMessage(on, stream, { settings: { gop: 100_000 } }));
  worker.send({ type: 'start' });
  alice = new NativeViewer(worker, 1, ALICE);
  alice.attach();
  return alice;
}

const packets = (viewer: NativeViewer) => viewer.video.map(({ data }) => data);
const keyframes = (viewer: NativeViewer) =>
  framesOf(packets(viewer)).filter((frame) => isKeyframe('h265', frame)).length;
/** A PLI for this source. Source: RFC 4585, 6.3.1. */
const pli = (ssrc: number) => {
  const packet = Buffer.alloc(12);
  packet.writeUInt32BE(0x81ce_0002, 0);
  packet.writeUInt32BE(1, 4);
  packet.writeUInt32BE(ssrc, 8);
  return packet;
};

describe.each([
  ['h265', 'H265', 'profile-id=1;tier-flag=0;tx-mode=SRST;level-id=93'],
  ['av1', 'AV1', 'profile=0;tier=0;level-idx=5'],
] as const)('a session in %s', (codec, name, fmtp) => {
  test('is offered as such, keyframe first, and is decoded as the display shows it', async () => {
    const viewer = await watch(codec);
    await viewer.until('fifteen frames', () => framesOf(packets(viewer)).length >= 15, 20_000);
    const offer = viewer.signals.find(({ type }) => type === 'offer');
    expect(offer).toMatchObject({ sdp: expect.stringContaining(`a=rtpmap:96 ${name}/90000`) });
    expect(offer).toMatchObject({ sdp: expect.stringContaining(`a=fmtp:96 ${fmtp}`) });
    const [first, ...others] = framesOf(packets(viewer));
    expect(isKeyframe(codec, first ?? [])).toBe(true);
    expect(others.filter((frame) => !isKeyframe(codec, frame)).length).toBeGreaterThan(0);
    const middles = await decodeMiddles(codec, packets(viewer), SIZE, scratch);
    expect(middles.length).toBeGreaterThanOrEqual(14);
    for (const middle of middles)
      middle.forEach((value, index) => {
        expect(Math.abs(value - (BLUE[index] ?? 0))).toBeLessThan(16);
      });
    expect(said.filter(({ type }) => type === 'failure')).toEqual([]);
  });

  test('the trace names the element and the codec', async () => {
    const viewer = await watch(codec);
    const caps = () =>
      said.find((message) => message.type === 'event' && message.event === 'caps.negotiated');
    await viewer.until('its trace', () => caps() !== undefined, 20_000);
    expect(caps()).toMatchObject({
      payload: { codec, encoder_factory: codec === 'av1' ? 'av1enc' : 'x265enc' },
    });
  });
});

test('PLI brings a keyframe of H.265 from which a decoder can start', async () => {
  const viewer = await watch('h265');
  await viewer.until('ten frames', () => framesOf(packets(viewer)).length >= 10, 20_000);
  const before = keyframes(viewer);
  viewer.sendRtcp(pli(viewer.videoSsrc));
  await viewer.until('a keyframe', () => keyframes(viewer) > before, 5_000);
  const frames = framesOf(packets(viewer));
  const newest = frames.findLastIndex((frame) => isKeyframe('h265', frame));
  await viewer.until('what follows it', () => framesOf(packets(viewer)).length >= newest + 5);
  const from = framesOf(packets(viewer)).slice(newest).flat();
  expect((await decodeMiddles('h265', from, SIZE, scratch)).length).toBeGreaterThanOrEqual(4);
});

test('an encoder that takes no request for a keyframe makes one a second', async () => {
  const viewer = await watch('av1');
  await viewer.until('two seconds', () => framesOf(packets(viewer)).length >= 31, 20_000);
  const keys = framesOf(packets(viewer)).map((frame) => isKeyframe('av1', frame));
  const [first = -1, second = -1] = keys.flatMap((isKey, index) => (isKey ? [index] : []));
  expect([first, second]).toEqual([0, 15]);
});

test('the probe proves and measures every codec of the table that the host can encode', {
  timeout: 240_000,
}, async () => {
  const { encoders, throughput } = await probeEncoders(
    [{ index: 0, vendor: 'software', render_node: null }],
    // AV1 in software takes most of a host's own limit on a quiet machine.
    { env: { NODE_OPTIONS: codecPreload() }, limitMs: 40_000 },
  );
  expect(encoders.map(({ codec, available, live_bitrate }) => [codec, available, live_bitrate])).toEqual([
    ['h264', true, true],
    ['h265', true, true],
    ['av1', true, false],
  ]);
  for (const codec of ['h264', 'h265', 'av1'] as const)
    expect(throughput.openh264?.[codec]?.max_pixel_rate_mpix_s).toBeGreaterThan(0);
});
