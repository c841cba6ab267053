// @vitest-environment happy-dom
import { beforeEach, describe, expect, test } from 'vitest';
import { Microphone } from './microphone.ts';

let asked: { grant(): void; refuse(): void }[];
let open: Set<EventTarget>;
let sent: (MediaStreamTrack | null)[];
let changes: string[];
let microphone: Microphone;

const peer = { setMicrophone: (track: MediaStreamTrack | null) => Promise.resolve(sent.push(track) > 0) };
const deafPeer = { setMicrophone: () => Promise.resolve(false) };
/** Runs everything that waits for an answer of the browser. */
const settled = () => new Promise((resolve) => globalThis.requestAnimationFrame(resolve));

function makeInput(): MediaStream {
  const track = Object.assign(new EventTarget(), { stop: () => void open.delete(track) });
  open.add(track);
  return { getTracks: () => [track], getAudioTracks: () => [track] } as unknown as MediaStream;
}

beforeEach(() => {
  [asked, sent, changes] = [[], [], []];
  open = new Set();
  Object.defineProperty(navigator, 'mediaDevices', {
    configurable: true,
    value: {
      getUserMedia: () =>
        new Promise<MediaStream>((resolve, reject) => {
          asked.push({
            grant: () => resolve(makeInput()),
            refuse: () => reject(new Error('NotAllowedError')),
          });
        }),
    },
  });
  microphone = new Microphone(() => changes.push(microphone.status));
  microphone.attach(peer);
});

async function turnOn(): Promise<void> {
  const turned = microphone.setEnabled(true);
  asked.at(-1)?.grant();
  await turned;
}

describe('the microphone of the page', () => {
  test('is not requested before the person turns it on', () => {
    expect(asked).toEqual([]);
    expect(microphone.status).toBe('off');
  });

  test('sends while it is on, and closes when it is turned off', async () => {
    await turnOn();
    expect(microphone.status).toBe('on');
    expect(sent).toEqual([...open]);
    await microphone.setEnabled(false);
    expect(open.size).toBe(0);
    expect(sent.at(-1)).toBeNull();
    expect(changes).toEqual(['on', 'off']);
  });

  test('a refusal is reported', async () => {
    const turned = microphone.setEnabled(true);
    asked[0]?.refuse();
    expect(await turned).toBe('denied');
  });

  test('a session without a microphone gets none', async () => {
    microphone.attach(deafPeer);
    await turnOn();
    expect(microphone.status).toBe('unavailable');
    expect(open.size).toBe(0);
  });

  test('turned off during the browser’s question, it does not open afterwards', async () => {
    const turned = microphone.setEnabled(true);
    await microphone.setEnabled(false);
    asked[0]?.grant();
    expect(await turned).toBe('off');
    expect(open.size).toBe(0);
    expect(sent).toEqual([]);
  });

  test('stays on over a new connection, and is turned off if that one has no microphone', async () => {
    await turnOn();
    microphone.attach(peer);
    await settled();
    expect(sent).toHaveLength(2);
    expect(microphone.status).toBe('on');
    microphone.attach(deafPeer);
    await settled();
    expect(microphone.status).toBe('unavailable');
    expect(open.size).toBe(0);
  });

  test('is closed when no connection plays', async () => {
    await turnOn();
    microphone.attach(null);
    expect(open.size).toBe(0);
    expect(microphone.status).toBe('off');
  });

  test('a device that is unplugged turns it off', async () => {
    await turnOn();
    for (const track of [...open]) track.dispatchEvent(new Event('ended'));
    expect(microphone.status).toBe('off');
  });

  test('is unavailable on a page without a secure context', async () => {
    Object.defineProperty(navigator, 'mediaDevices', { configurable: true, value: undefined });
    expect(await microphone.setEnabled(true)).toBe('unavailable');
  });
});
