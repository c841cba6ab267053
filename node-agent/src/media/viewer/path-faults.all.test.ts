import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { writePictureLoss } from '../testing/feedback.ts';
import { ALICE, TestHost, type TestSession } from '../testing/test-host.ts';
import { UdpRelay } from '../testing/udp-relay.ts';

/** All tests of this file use real time, because the library detects a dead path with its own clock. */
const CUT_MS = 5_000;
/** Time for which a viewer whose laptop is closed cannot be reached. */
const AWAY_MS = process.env.FOOTLIGHT_LONG === '1' ? 60_000 : 500;

let host: TestHost;
let session: TestSession;
let relays: UdpRelay[];

beforeAll(async () => {
  host = await TestHost.open();
});

beforeEach(async () => {
  relays = [];
  session = await host.startSession();
});

afterEach(async () => {
  await host.clear();
  for (const relay of relays) relay.close();
});

afterAll(() => host?.close());

/** Connects a viewer with its own network path. */
async function watchThrough(conn: number) {
  const relay = await UdpRelay.open();
  relays.push(relay);
  const viewer = session.viewer(ALICE, conn);
  relay.wire(viewer);
  viewer.attach();
  await viewer.untilPlaying();
  return { relay, viewer };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test(`the path is cut for ${CUT_MS} ms: the picture recovers on the same connection`, async () => {
  const { relay, viewer } = await watchThrough(1);
  const connection = viewer.pcId;
  relay.cut = true;
  await pause(CUT_MS);
  const before = viewer.keyframes;
  relay.cut = false;
  // Requests a keyframe repeatedly, like a browser that cannot decode.
  const asking = setInterval(() => viewer.sendRtcp(writePictureLoss(viewer.videoSsrc)), 100);
  try {
    await viewer.until('a whole picture', () => viewer.keyframes > before);
  } finally {
    clearInterval(asking);
  }
  expect([viewer.pcId, viewer.state]).toEqual([connection, 'connected']);
  expect(session.heard('failure')).toEqual([]);
});

test(`a laptop is closed for ${AWAY_MS} ms and opened with another address: the same session, a new connection`, {
  timeout: AWAY_MS + 30_000,
}, async () => {
  const first = await watchThrough(1);
  // The path is cut without closing the viewer's connection.
  first.relay.cut = true;
  await pause(AWAY_MS);
  const second = await watchThrough(2);
  expect(second.viewer.pcId).not.toBe(first.viewer.pcId);
  expect(second.viewer.keyframes).toBeGreaterThan(0);
  expect(session.heard('failure')).toEqual([]);
});
