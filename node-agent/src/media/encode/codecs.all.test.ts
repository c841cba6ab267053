import { systemClock } from '@footlight/platform';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { isKeyframe } from '../rtp/keyframe.ts';
import { codecPreload } from '../testing/codec-preload.ts';
import { decodeMiddles, framesOf } from '../testing/decode.ts';
import { writePictureLoss } from '../testing/feedback.ts';
import type { NativeViewer } from '../testing/native-viewer.ts';
import { TestHost, type TestSession } from '../testing/test-host.ts';
import { probeEncoders } from './encoder-probe.ts';
import '../testing/codec-encoders.ts';

/** The software encoders of these codecs exist only in tests; all other code is product code. */
const SIZE = { width: 320, height: 240 };
const BLUE = [0x20, 0x40, 0x90] as const;

let host: TestHost;
let session: TestSession;

beforeAll(async () => {
  host = await TestHost.open(SIZE, codecPreload());
  const { client, root } = host.desktop;
  const window = client.AllocID();
  const [red, green, blue] = BLUE;
  client.CreateWindow(window, root, 0, 0, SIZE.width, SIZE.height, 0, 0, 1, 0, {
    backgroundPixel: (red << 16) | (green << 8) | blue,
  });
  client.MapWindow(window);
  await host.desktop.settle();
});

afterEach(() => host.clear());
afterAll(() => host?.close());

async function watch(codec: 'h265' | 'av1'): Promise<NativeViewer> {
  session = await host.session();
  // No periodic keyframes: if keyframes can be requested from an encoder, it makes none without a request.
  session.prepare({ fps: 15, bitrate_kbps: 800, codec, playout0_ms: 50 });
  session.worker.send({ type: 'start' });
  const viewer = session.viewer();
  viewer.attach();
  return viewer;
}

const packets = (viewer: NativeViewer) => viewer.video.map(({ data }) => data);
const keyframes = (viewer: NativeViewer) =>
  framesOf(packets(viewer)).filter((frame) => isKeyframe('h265', frame)).length;

describe.each([
  ['h265', 'H265', 'profile-id=1;tier-flag=0;tx-mode=SRST;level-id=93'],
  ['av1', 'AV1', 'profile=0;tier=0;level-idx=5'],
] as const)('a session in %s', (codec, name, fmtp) => {
  test('is offered, starts with a keyframe, and decodes to the picture on the display', async () => {
    const viewer = await watch(codec);
    await viewer.until('fifteen frames', () => framesOf(packets(viewer)).length >= 15, 20_000);
    const offer = viewer.signals.find(({ type }) => type === 'offer');
    expect(offer).toMatchObject({ sdp: expect.stringContaining(`a=rtpmap:96 ${name}/90000`) });
    expect(offer).toMatchObject({ sdp: expect.stringContaining(`a=fmtp:96 ${fmtp}`) });
    const [first, ...others] = framesOf(packets(viewer));
    expect(isKeyframe(codec, first ?? [])).toBe(true);
    expect(others.filter((frame) => !isKeyframe(codec, frame)).length).toBeGreaterThan(0);
    const middles = await decodeMiddles(codec, packets(viewer), SIZE, host.scratch);
    expect(middles.length).toBeGreaterThanOrEqual(14);
    for (const middle of middles)
      middle.forEach((value, index) => {
        expect(Math.abs(value - (BLUE[index] ?? 0))).toBeLessThan(16);
      });
    expect(session.heard('failure')).toEqual([]);
  });

  test('the trace names the element and the codec', async () => {
    const viewer = await watch(codec);
    const caps = () => session.told('caps.negotiated');
    await viewer.until('its trace', () => caps().length > 0, 20_000);
    expect(caps()[0]).toMatchObject({ codec, encoder_factory: codec === 'av1' ? 'av1enc' : 'x265enc' });
  });
});

test('PLI causes a keyframe of H.265 from which a decoder can start', async () => {
  const viewer = await watch('h265');
  await viewer.until('ten frames', () => framesOf(packets(viewer)).length >= 10, 20_000);
  const before = keyframes(viewer);
  viewer.sendRtcp(writePictureLoss(viewer.videoSsrc));
  await viewer.until('a keyframe', () => keyframes(viewer) > before, 5_000);
  const frames = framesOf(packets(viewer));
  const newest = frames.findLastIndex((frame) => isKeyframe('h265', frame));
  await viewer.until('what follows it', () => framesOf(packets(viewer)).length >= newest + 5);
  const from = framesOf(packets(viewer)).slice(newest).flat();
  expect((await decodeMiddles('h265', from, SIZE, host.scratch)).length).toBeGreaterThanOrEqual(4);
});

test('an encoder without keyframe requests makes one a second', async () => {
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
    // A longer limit, because software AV1 needs most of the product's time limit, even on an idle machine.
    { clock: systemClock, env: codecPreload(), limitMs: 40_000 },
  );
  expect(encoders.map(({ codec, available, live_bitrate }) => [codec, available, live_bitrate])).toEqual([
    ['h264', true, true],
    ['h265', true, true],
    ['av1', true, false],
  ]);
  for (const codec of ['h264', 'h265', 'av1'] as const)
    expect(throughput.openh264?.[codec]?.max_pixel_rate_mpix_s).toBeGreaterThan(0);
});
