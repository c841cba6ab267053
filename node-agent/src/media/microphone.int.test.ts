import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pipeline } from '@footlight/gst';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type AudioServer, startAudioServer } from '../display/audio-server.ts';
import { systemClock } from '../platform/clock.ts';
import { systemRandom } from '../platform/random.ts';
import { MIC_PAYLOAD_TYPE } from './sdp-offer.ts';
import { startTestDisplay, type TestDisplay } from './testing/display.ts';
import { MIC_SSRC, NativeViewer } from './testing/native-viewer.ts';
import { prepareMessage } from './testing/prepare.ts';
import type { WorkerMessage } from './worker-messages.ts';
import { createMediaWorkerPool, type MediaWorker, type MediaWorkerPool } from './worker-pool.ts';

const SESSION = '11111111-1111-4111-8111-111111111111';
const ALICE = '22222222-2222-4222-8222-222222222222';
const BOB = '33333333-3333-4333-8333-333333333333';
/** Loudest sample of silence, and of what counts as a voice, of 32767. */
const SILENCE = 50;
const VOICE = 3_000;

let display: TestDisplay;
let scratch: string;
let pool: MediaWorkerPool;
let worker: MediaWorker;
let server: AudioServer | null = null;
let said: WorkerMessage[];
let viewers: NativeViewer[];

beforeAll(async () => {
  display = await startTestDisplay(320, 240);
  pool = createMediaWorkerPool({ size: 1 });
});

afterAll(async () => {
  await pool?.close();
  await display?.close();
});

beforeEach(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'microphone-'));
  [said, viewers] = [[], []];
  worker = await pool.acquire();
  for (const type of ['event', 'failure', 'log'] as const) worker.on(type, (message) => said.push(message));
});

afterEach(async () => {
  for (const viewer of viewers) viewer.close();
  worker.kill();
  await worker.exited;
  await server?.close();
  server = null;
  rmSync(scratch, { recursive: true, force: true });
});

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
  };
  const ended = new AbortController().signal;
  const options = { sessionId: SESSION, user: null, dirs, ended, microphone: mic };
  server = await startAudioServer(options, { clock: systemClock, random: systemRandom, env: process.env });
  const encoding = new Promise<void>((resolve) => void worker.on('encoding', () => resolve()));
  const sound = { session_id: SESSION, pulse_server: server.server };
  worker.send(prepareMessage({ display: display.name, scratch }, { audio: true, mic }, sound));
  worker.send({ type: 'start' });
  await encoding;
  return server;
}

async function connect(clientId: string, conn: number): Promise<NativeViewer> {
  const viewer = new NativeViewer(worker, conn, clientId);
  viewers.push(viewer);
  viewer.attach();
  await viewer.until('connected', () => viewer.state === 'connected' && viewer.video.length > 0);
  return viewer;
}

const offerOf = (viewer: NativeViewer) => {
  const offer = viewer.signals.find((signal) => signal.type === 'offer');
  return offer?.type === 'offer' ? offer.sdp : '';
};

/** Somebody who says "aaah" until told to be quiet. */
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

/** What an app records: the loudest sample of each tenth of a second. */
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

const media = () =>
  said.flatMap((message) =>
    message.type === 'event' && message.event === 'session.effective_media' ? [message.payload.mic] : [],
  );

const problems = () =>
  said.filter(
    (message) =>
      message.type === 'failure' || (message.type === 'log' && message.event === 'media.microphone_failed'),
  );

describe('a session that was granted the microphone', () => {
  test('its app records what the viewer says, while the viewer says it, and a second viewer after a takeover', async () => {
    const sound = await startSession(true);
    const alice = await connect(ALICE, 1);
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

      const bob = await connect(BOB, 2);
      const other = await speak(bob);
      await bob.until('the other voice', () => (app.peaks.at(-1) ?? 0) > VOICE);
      await other.stop();
      expect(problems()).toEqual([]);
    } finally {
      app.stop();
    }
  });

  test('packets that are no voice end nothing, and the next viewer is heard', async () => {
    const sound = await startSession(true);
    const alice = await connect(ALICE, 1);
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
      // Whoever comes next is heard through a pipeline of their own.
      const bob = await connect(BOB, 2);
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
  test('is offered no line for it, has no source, and hears nobody', async () => {
    const sound = await startSession(false);
    const alice = await connect(ALICE, 1);
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
