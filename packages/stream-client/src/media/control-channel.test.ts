import { type AgentHello, decodeInput } from '@footlight/protocol/input';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { browserEnvironment } from '../environment.ts';
import { InputSender } from '../input/sender.ts';
import { ControlChannel } from './control-channel.ts';
import type { Peer } from './peer.ts';

let sender: InputSender;
let channel: ControlChannel;
/** Times of the sent pings, ms after the connection. */
let pings: number[];

interface FakeChannel {
  readyState: string;
  bufferedAmount: number;
  send(data: Uint8Array): void;
}

/** A connection that is established now. */
function connect(readyState: string): { peer: Peer; motion: FakeChannel } {
  const startMs = performance.now();
  const motion: FakeChannel = {
    readyState,
    bufferedAmount: 0,
    send: (data) => {
      const decoded = decodeInput(data, 'motion', 'agent');
      if (decoded.kind === 'message' && decoded.message.kind === 'ping')
        pings.push(performance.now() - startMs);
    },
  };
  const channels = { motion, input: motion, control: motion };
  sender.attach(channels as unknown as Peer['channels']);
  const peer = { channels } as unknown as Peer;
  channel.attach(peer);
  return { peer, motion };
}

beforeEach(() => {
  vi.useFakeTimers();
  pings = [];
  const environment = browserEnvironment();
  sender = new InputSender(environment, () => undefined);
  channel = new ControlChannel(environment, sender);
});
afterEach(() => vi.useRealTimers());

const BURST = [200, 400, 600, 800, 1_000, 1_200, 1_400, 1_600];

describe('pings', () => {
  test('are eight, 200 ms apart, then one a second', () => {
    connect('open');
    vi.advanceTimersByTime(4_000);
    expect(pings).toEqual([...BURST, 2_600, 3_600]);
  });

  test('are eight also when the channel opens later than the connection', () => {
    const { motion } = connect('connecting');
    vi.advanceTimersByTime(500);
    motion.readyState = 'open';
    vi.advanceTimersByTime(3_000);
    expect(pings).toEqual([...BURST.map((ms) => ms + 400), 3_000]);
  });

  test('start over with another connection, and end without one', () => {
    connect('open');
    vi.advanceTimersByTime(5_000);
    pings = [];
    connect('open');
    vi.advanceTimersByTime(1_600);
    expect(pings).toEqual(BURST);
    channel.attach(null);
    vi.advanceTimersByTime(5_000);
    expect(pings).toHaveLength(8);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test('files are renamed only on a host that offers it', () => {
  const { peer } = connect('open');
  const hello = (features: string[]) => ({ type: 'hello', features, max_file_mb: 1 }) as AgentHello;
  expect(channel.canRename).toBe(false);
  channel.greeted(hello(['files']));
  expect([channel.maxFileMb, channel.canRename]).toEqual([1, false]);
  channel.greeted(hello(['files', 'file_names']));
  expect(channel.canRename).toBe(true);
  // The next host may be an older one.
  channel.attach(peer);
  expect(channel.canRename).toBe(false);
});

describe('the keyboard layout', () => {
  const de = { layout: 'de', variant: null };
  const hello = (features: string[]) => ({ type: 'hello', features }) as unknown as AgentHello;
  const sentBy = (peer: Peer) => {
    const sent: unknown[] = [];
    peer.channels.control.send = (data: unknown) => void sent.push(JSON.parse(String(data)));
    return sent;
  };

  test('is sent when the host’s hello offers layouts, and again on each connection', () => {
    for (let connection = 0; connection < 2; connection++) {
      const { peer } = connect('open');
      const sent = sentBy(peer);
      if (connection === 0) channel.setLayout(de);
      expect(sent).toEqual([]);
      channel.greeted(hello(['cursor', 'keyboard_layout']));
      expect(sent).toEqual([{ type: 'keyboard_layout', ...de }]);
    }
  });

  test('is never sent to an older host', () => {
    const { peer } = connect('open');
    const sent = sentBy(peer);
    channel.greeted(hello(['cursor']));
    channel.setLayout(de);
    expect(sent).toEqual([]);
  });

  test('is not sent without a choice', () => {
    const { peer } = connect('open');
    const sent = sentBy(peer);
    channel.greeted(hello(['keyboard_layout']));
    expect(sent).toEqual([]);
  });
});
