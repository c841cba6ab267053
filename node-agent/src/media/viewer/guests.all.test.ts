/** Guests of a real media worker, with real connections. Guests send everything that the page does not let them send. */

import { ManualClock } from '@footlight/platform/testing';
import type { AgentSignal } from '@footlight/protocol/agent';
import { OWNER_AWAY_MS } from '@footlight/protocol/guests';
import {
  encodeButton,
  encodeControl,
  encodeKey,
  encodePadOn,
  encodePadState,
  encodePointerAbs,
  encodeText,
  encodeWheel,
} from '@footlight/protocol/input';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SessionInput } from '../input/session-input.ts';
import { readRtpHeader } from '../rtp/rtp-packet.ts';
import { writePictureLoss } from '../testing/feedback.ts';
import type { NativeViewer } from '../testing/native-viewer.ts';
import { testStream } from '../testing/stream.ts';
import { type AppWindow, KEY_PRESS, KEY_RELEASE, TestHost, type TestSession } from '../testing/test-host.ts';
import { Guests } from './guests.ts';

const ADA = 'aaaaaaaa-0000-4000-8000-000000000001';
const EVE = 'eeeeeeee-0000-4000-8000-000000000002';
const HOUR_MS = 60 * 60 * 1000;
const watch = { role: 'watch', pad_index: null, ends_in_ms: HOUR_MS } as const;
const full = { role: 'full', pad_index: null, ends_in_ms: HOUR_MS } as const;

let host: TestHost;
let session: TestSession;
let owner: NativeViewer;

beforeAll(async () => {
  host = await TestHost.open();
});
afterEach(() => host.clear());
afterAll(() => host?.close());

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const key = (down: boolean, seq: number, code = 30) => encodeKey({ seq, t: seq, code, down, locks: 0 });
const guestsOf = (viewer: NativeViewer) =>
  viewer.control.flatMap((message) => (message.type === 'guests' ? [message.guests] : []));
const endedWith = (viewer: NativeViewer) =>
  viewer.signals.flatMap((message) => (message.type === 'bye' ? [message.reason] : []));

/** Starts a session that its owner watches, with these guests on the list. */
async function begin(
  ...guests: Parameters<TestSession['allow']> extends [number, ...infer Rest] ? Rest : never
) {
  session = await host.startSession();
  owner = await session.watch();
  session.allow(1, ...guests);
}

async function join(id: string, conn: number, name?: string): Promise<NativeViewer> {
  const viewer = session.guest(id, conn, name);
  viewer.attach();
  await viewer.untilPlaying();
  return viewer;
}

/** Sends everything that a session accepts from its owner, except a key that the caller then checks. */
function attack(guest: NativeViewer): void {
  guest.send('input', key(true, 1));
  guest.send('input', encodeText({ seq: 2, t: 2, text: 'hostile' }));
  guest.send('input', encodeButton({ seq: 3, t: 3, button: 0, down: true, position: { x: 9, y: 9 } }));
  guest.send('input', encodeWheel({ seq: 4, t: 4, dx: 0, dy: 120 }));
  guest.send('motion', encodePointerAbs({ seq: 5, t: 5, x: 9, y: 9 }));
  for (const index of [0, 1, 2, 3]) {
    guest.send('input', encodePadOn({ seq: 6, t: 6, index, rumble: false }));
    const state = { left_trigger: 0, right_trigger: 0, buttons: 1, axes: [0, 0, 0, 0] as const };
    guest.send('motion', encodePadState({ seq: 7 + index, t: 7, index, ...state, axes: [...state.axes] }));
  }
  guest.send('control', encodeControl({ type: 'clipboard', text: 'hostile' }));
  guest.send('control', encodeControl({ type: 'keyboard_layout', layout: 'de', variant: null }));
  guest.send('control', encodeControl({ type: 'window_use', id: 1 }));
}

/** The owner types: earlier messages of guests have then been handled. */
async function ownerTypes(window: AppWindow): Promise<void> {
  owner.send('input', key(true, 1, 48));
  owner.send('input', key(false, 2, 48));
  await owner.until("the owner's key", () => window.events.some(({ type }) => type === KEY_RELEASE));
}

describe('two viewers of one encoder', () => {
  test('both get the picture, the owner learns who watches, and the guest gets only what guests may get', async () => {
    await begin({ id: ADA, ...watch });
    const ada = await join(ADA, 2, 'Ada');
    await ada.until('frames', () => ada.markers > 20 && owner.markers > 20);
    await owner.until('the name', () => guestsOf(owner).length > 0);
    expect(guestsOf(owner).at(-1)).toEqual([{ id: ADA, name: 'Ada', role: 'watch', pad_index: null }]);
    const hello = ada.control.find((message) => message.type === 'hello');
    expect(hello).toMatchObject({ features: ['cursor', 'frame_timing'], input: [], max_pads: 0 });
    expect(ada.control.map(({ type }) => type)).not.toContain('windows');
    // One encoder: the payload of a frame is the same for both, only its header differs.
    const payloadOf = ({ data }: { data: Buffer }) =>
      data.subarray(readRtpHeader(data)?.payloadOffset).toString('hex');
    const payloads = new Set(owner.video.map(payloadOf));
    const shared = ada.video.filter((packet) => payloads.has(payloadOf(packet)));
    expect(shared.length).toBeGreaterThan(ada.video.length / 2);
    expect(ada.videoSsrc).not.toBe(owner.videoSsrc);
  });

  test('the session counts as watched by its owner only', async () => {
    await begin({ id: ADA, ...watch });
    await join(ADA, 2);
    owner.signal({ type: 'bye', reason: 'left' });
    await owner.until('the end', () => session.heard('viewer').at(-1)?.connected === false);
    expect(session.heard('viewer').map(({ connected }) => connected)).toEqual([true, false]);
  });
});

describe('the rights of a guest', () => {
  test('of one who watches: no message reaches the session', async () => {
    const window = await host.openWindow();
    await begin({ id: EVE, ...watch });
    const eve = await join(EVE, 2);
    attack(eve);
    await pause(300);
    await ownerTypes(window);
    expect(window.events.map(({ type }) => type)).toEqual([KEY_PRESS, KEY_RELEASE]);
    expect(owner.control.map(({ type }) => type)).not.toContain('clipboard');
    expect(eve.state).toBe('connected');
    expect(session.heard('failure')).toEqual([]);
  });

  test('of one with a gamepad: keys and pointer do not reach the session', async () => {
    const window = await host.openWindow();
    await begin({ id: EVE, role: 'gamepad', pad_index: 1, ends_in_ms: HOUR_MS });
    const eve = await join(EVE, 2);
    attack(eve);
    await pause(300);
    await ownerTypes(window);
    expect(window.events.map(({ type }) => type)).toEqual([KEY_PRESS, KEY_RELEASE]);
  });

  test('of one with full control: keys reach the app, and are released and ignored when the owner leaves', async () => {
    const window = await host.openWindow();
    await begin({ id: ADA, ...full });
    const ada = await join(ADA, 2);
    ada.send('input', key(true, 1));
    await ada.until('the press', () => window.events.some(({ type }) => type === KEY_PRESS));
    owner.signal({ type: 'bye', reason: 'left' });
    await ada.until('the release', () => window.events.some(({ type }) => type === KEY_RELEASE));
    await ada.until('the message', () =>
      ada.control.some((message) => message.type === 'owner' && !message.watches),
    );
    const heard = window.events.length;
    const seen = ada.markers;
    ada.send('input', key(true, 2));
    await pause(1_000);
    expect(window.events.length).toBe(heard);
    // Frames that were being sent when the owner left may still arrive.
    expect(ada.markers - seen).toBeLessThan(5);
    const back = await session.watch('22222222-2222-4222-8222-222222222222', 9);
    await ada.until('frames again', () => ada.markers - seen > 10);
    expect(back.state).toBe('connected');
  });

  test('come only from the list: a page that names itself as another guest or as the owner gains nothing', async () => {
    await begin({ id: ADA, ...watch });
    const eve = session.guest(EVE, 3);
    eve.attach();
    await eve.until('refused', () => endedWith(eve).length > 0);
    expect(endedWith(eve)).toEqual(['guest_ended']);
    expect(eve.signals.map(({ type }) => type)).toEqual(['bye']);
  });
});

describe('the end of a guest', () => {
  test('a removed guest loses picture and control at once, and cannot return; the others stay', async () => {
    const window = await host.openWindow();
    await begin({ id: EVE, ...full }, { id: ADA, ...watch });
    const eve = await join(EVE, 2);
    const ada = await join(ADA, 3);
    eve.send('input', key(true, 1));
    await eve.until('the press', () => window.events.some(({ type }) => type === KEY_PRESS));
    session.allow(2, { id: ADA, ...watch });
    await eve.until('disconnected', () => eve.state !== 'connected', 1_000);
    await eve.until('the release', () => window.events.at(-1)?.type === KEY_RELEASE);
    expect(endedWith(eve)).toEqual(['guest_ended']);
    eve.attach(8);
    await eve.until('refused again', () => endedWith(eve).length === 2);
    // A list that was overtaken by a newer one does not let the guest return.
    session.allow(1, { id: EVE, ...full }, { id: ADA, ...watch });
    eve.attach(9);
    await eve.until('refused again', () => endedWith(eve).length === 3);
    const seen = [ada.markers, owner.markers];
    await ada.until('frames', () => ada.markers > (seen[0] ?? 0) + 5 && owner.markers > (seen[1] ?? 0) + 5);
    expect(
      guestsOf(owner)
        .at(-1)
        ?.map(({ id }) => id),
    ).toEqual([ADA]);
  });

  test('when the time is over the guest is disconnected', async () => {
    await begin({ id: ADA, ...watch, ends_in_ms: 4_000 });
    const ada = await join(ADA, 2);
    await ada.until('disconnected', () => ada.state !== 'connected');
    expect(endedWith(ada)).toEqual(['guest_ended']);
  });
});

test('a guest who requests keyframes all the time causes two in ten seconds', async () => {
  await begin({ id: EVE, ...watch });
  const eve = await join(EVE, 2);
  const before = owner.keyframes;
  for (let count = 0; count < 60; count++) {
    eve.sendRtcp(writePictureLoss(eve.videoSsrc));
    await pause(50);
  }
  expect(owner.keyframes - before).toBeLessThanOrEqual(2);
  owner.sendRtcp(writePictureLoss(owner.videoSsrc));
  await owner.until("the owner's keyframe", () => owner.keyframes > before);
});

describe('without a connection, by a clock of the test', () => {
  const CONN = 100_000_000_000_001;
  let clock: ManualClock;
  let said: { conn: number; msg: AgentSignal }[];
  let guests: Guests;

  beforeEach(() => {
    clock = new ManualClock();
    said = [];
    guests = new Guests({
      stream: testStream(),
      addresses: null,
      ports: null,
      fallback: null,
      clock,
      uuid: () => '99999999-0000-4000-8000-000000000009',
      random32: () => 7,
      resolver: { resolve: () => Promise.resolve(null), close: () => undefined },
      input: new SessionInput(clock, { width: 1280, height: 720 }, null),
      events: {
        signal: (conn, msg) => said.push({ conn, msg }),
        onKeyframeWanted: () => undefined,
        onViewerReady: () => undefined,
        onChanged: () => undefined,
      },
    });
    guests.allow({ version: 1, guests: [{ id: ADA, ...watch }] });
  });
  afterEach(async () => {
    await guests.close('session_ended');
    expect(clock.pendingTimers).toBe(0);
  });

  const attach = (conn: number) =>
    guests.attach({
      type: 'attach',
      conn,
      client_id: ADA,
      hello: { type: 'hello', protocol: 1, client_id: ADA, client: { kind: 'native' }, codecs: ['h264'] },
      ice_servers: [],
      guest: { id: ADA, name: 'Ada' },
    });
  const byes = () => said.flatMap(({ msg }) => (msg.type === 'bye' ? [msg.reason] : []));

  test('a guest is disconnected after a minute without the owner, and may return', async () => {
    attach(CONN);
    clock.advance(OWNER_AWAY_MS - 1);
    expect(byes()).toEqual([]);
    clock.advance(1);
    expect(byes()).toEqual(['owner_away']);
    attach(CONN + 1);
    guests.ownerWatches = true;
    clock.advance(2 * OWNER_AWAY_MS);
    expect(byes()).toEqual(['owner_away']);
  });

  test('a longer time on a newer list counts, and a shorter one too', () => {
    attach(CONN);
    guests.ownerWatches = true;
    guests.allow({ version: 2, guests: [{ id: ADA, ...watch, ends_in_ms: 2 * HOUR_MS }] });
    clock.advance(HOUR_MS + 1);
    expect(byes()).toEqual([]);
    guests.allow({ version: 3, guests: [{ id: ADA, ...watch, ends_in_ms: 1_000 }] });
    clock.advance(1_000);
    expect(byes()).toEqual(['guest_ended']);
  });
});
