import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { Pipeline } from '@footlight/gst';
import { systemClock, systemRandom } from '@footlight/platform';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type AudioServer, startAudioServer } from '../../display/audio-server.ts';
import { MIC_SSRC, type NativeViewer } from '../testing/native-viewer.ts';
import { BOB, TestHost, type TestSession } from '../testing/test-host.ts';
import { MIC_PAYLOAD_TYPE } from '../webrtc/sdp-offer.ts';

const SESSION = '11111111-1111-4111-8111-111111111111';
/** Highest sample that counts as silence, and lowest sample that counts as a voice, of 32767. */
const SILENCE = 50;
const VOICE = 3_000;

let host: TestHost;
let session: TestSession;
let server: AudioServer | null = null;
let scratch: string;

beforeAll(async () => {
  host = await TestHost.open();
});

beforeEach(async () => {
  scratch = mkdtempSync(join(host.scratch, 'sound-'));
  session = await host.session();
});

afterEach(async () => {
  await host.clear();
  await server?.close();
  server = null;
});

afterAll(() => host?.close());

async function startSession(mic: boolean): Promise<AudioServer> {
  const dir = (name: string) => {
    mkdirSync(join(scratch, name));
    return join(scratch, name);
  };
  const dirs = {
    root: scratch,
    scratch,
    home: dir('home'),
    tmp: dir('tmp'),
    run: dir('run'),
    xauthority: join(scratch, 'cookie'),
    mounts: dir('mounts'),
    console: join(scratch, 'console'),
  };
  const ended = new AbortController().signal;
  const options = { sessionId: SESSION, user: null, dirs, enter: [], ended, microphone: mic };
  server = await startAudioServer(options, { clock: systemClock, random: systemRandom, env: process.env });
  await session.start({ audio: true, mic }, { session_id: SESSION, pulse_server: server.server });
  return server;
}

const offerOf = (viewer: NativeViewer) => {
  const offer = viewer.signals.find((signal) => signal.type === 'offer');
  return offer?.type === 'offer' ? offer.sdp : '';
};

/** Sends a steady tone as a voice, until it is stopped. */
async function speak(viewer: NativeViewer): Promise<{ sent(): number; stop(): Promise<void> }> {
  const pipeline = Pipeline.launch(
    `audiotestsrc is-live=true freq=440 volume=0.5 samplesperbuffer=480 ! audio/x-raw,rate=48000,channels=1 ! opusenc frame-size=10 ! rtpopuspay pt=${MIC_PAYLOAD_TYPE} ssrc=${MIC_SSRC} ! appsink name=packets sync=false max-buffers=20 drop=true`,
  );
  let speaking = true;
  let sent = 0;
  await pipeline.setState('playing');
  const loop = (async () => {
    while (speaking) {
      const sample = await pipeline.appSink('packets').pull(200);
      for (const { data } of sample?.read() ?? []) if (viewer.sendMic(data)) sent++;
      sample?.release();
    }
  })();
  return {
    sent: () => sent,
    async stop() {
      speaking = false;
      await loop;
      await pipeline.dispose();
    },
  };
}

/** Records like an app. @returns the loudest sample of each tenth of a second */
function record(from: AudioServer): { peaks: number[]; errors(): string; stop(): void } {
  const parec = spawn(
    'parec',
    [
      '--raw',
      '--format=s16le',
      '--rate=48000',
      '--channels=1',
      '--latency-msec=50',
      `--server=${from.server}`,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: scratch, XDG_RUNTIME_DIR: scratch } },
  );
  const peaks: number[] = [];
  let errors = '';
  let rest = Buffer.alloc(0);
  parec.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  parec.stdout.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (; rest.length >= 9600; rest = rest.subarray(9600)) {
      let peak = 0;
      for (let at = 0; at < 9600; at += 2) peak = Math.max(peak, Math.abs(rest.readInt16LE(at)));
      peaks.push(peak);
    }
  });
  return { peaks, errors: () => errors, stop: () => parec.kill('SIGKILL') };
}

const media = () => session.told('session.effective_media').map(({ mic }) => mic);

const problems = () => [
  ...session.heard('failure'),
  ...session.heard('log').filter(({ event }) => event === 'media.microphone_failed'),
];

describe('a session that was granted the microphone', () => {
  test('its app records the viewer’s voice live, and a second viewer’s after a takeover', async () => {
    const sound = await startSession(true);
    const alice = await session.watch();
    expect(offerOf(alice)).toMatch(/a=mid:mic\r\n(?:a=.*\r\n)*?a=recvonly/);
    expect(media()).toEqual(['negotiated']);
    const app = record(sound);
    try {
      await alice.until(`a quiet room ${app.errors()}`, () => app.peaks.length > 3);
      expect(Math.max(...app.peaks)).toBeLessThan(SILENCE);

      const voice = await speak(alice);
      await alice.until('a voice', () => (app.peaks.at(-1) ?? 0) > VOICE);
      await voice.stop();
      await alice.until('silence again', () => (app.peaks.at(-1) ?? VOICE) < SILENCE);

      const bob = await session.watch(BOB, 2);
      const other = await speak(bob);
      await bob.until('the other voice', () => (app.peaks.at(-1) ?? 0) > VOICE);
      await other.stop();
      expect(problems()).toEqual([]);
    } finally {
      app.stop();
    }
  });

  test('invalid packets end nothing, and the next viewer is heard', async () => {
    const sound = await startSession(true);
    const alice = await session.watch();
    const app = record(sound);
    try {
      for (let count = 0; count < 600; count++) {
        const packet = Buffer.alloc(12 + (count % 90), count);
        packet.writeUInt16BE(0x8000 | (count % 3 === 0 ? 111 : MIC_PAYLOAD_TYPE), 0);
        packet.writeUInt16BE(count, 2);
        packet.writeUInt32BE(MIC_SSRC, 8);
        alice.sendMic(packet);
      }
      await alice.until('two tenths of a second', () => app.peaks.length > 2);
      expect(alice.state).toBe('connected');
      // The next viewer gets a new pipeline and must be heard.
      const bob = await session.watch(BOB, 2);
      const voice = await speak(bob);
      await bob.until('a voice', () => (app.peaks.at(-1) ?? 0) > VOICE, 15_000);
      await voice.stop();
      expect(problems()).toEqual([]);
    } finally {
      app.stop();
    }
  });
});

describe('a session that was not granted it', () => {
  test('gets no microphone line in the offer, has no source, and no viewer is heard', async () => {
    const sound = await startSession(false);
    const alice = await session.watch();
    expect(offerOf(alice)).not.toContain('mic');
    expect(media()).toEqual(['off']);
    const app = record(sound);
    try {
      const voice = await speak(alice);
      await alice.until('a second of silence', () => app.peaks.length > 10);
      await voice.stop();
      expect(voice.sent()).toBe(0);
      expect(Math.max(...app.peaks)).toBeLessThan(SILENCE);
    } finally {
      app.stop();
    }
  });
});
