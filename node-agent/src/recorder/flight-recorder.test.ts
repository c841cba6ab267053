import {
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { silentLogger } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import type { RecordingEvent, SessionRecording } from '@footlight/protocol/agent';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { encodeRecord } from '../media/recording/stream-records.ts';
import type { WriteAnswer } from '../media/recording/write-messages.ts';
import { FlightRecorder } from './flight-recorder.ts';
import { type OpenRecording, RecordingFiles } from './recording-files.ts';
import type { WriteRecording } from './recording-writer.ts';

const SESSION = '11111111-1111-4111-8111-111111111111';
const id = (n: number) => `22222222-2222-4222-8222-${String(n).padStart(12, '0')}`;
const STREAM = { codec: 'h264', bitrate_kbps: 8_000 } as const;
const DAY_MS = 24 * 60 * 60 * 1000;
const KEYFRAME = encodeRecord([{ kind: 'video', capturedAtMs: 1, data: Buffer.alloc(500) }], true);

let stateDir: string;
let clock: ManualClock;
let freeBytes: number;
let told: { sessionId: string; event: RecordingEvent }[];
let writes: { records: number; finish: (answer: WriteAnswer) => Promise<void> }[];
let uploads: { id: string; recording: OpenRecording; finish: () => void }[];
let files: RecordingFiles;
let recorder: FlightRecorder;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'flight-recorder-'));
  // The clock starts at the real time, because the times of files come from the file system.
  clock = new ManualClock(Date.now());
  freeBytes = 1e12;
  told = [];
  // A new list, so that it contains only writes of this test: a waiting write of an earlier test may begin now.
  const begun: typeof writes = [];
  writes = begun;
  uploads = [];
  files = new RecordingFiles({
    ...{ stateDir, logger: silentLogger(), nowMs: () => clock.nowMs() },
    freeBytes: () => freeBytes,
  });
  recorder = new FlightRecorder({
    clock,
    logger: silentLogger(),
    files,
    write: ({ records, file }: WriteRecording) =>
      new Promise((resolve) => {
        const finish = async (answer: WriteAnswer) => {
          if (answer.ok) await file.writeFile('a film');
          resolve(answer);
        };
        begun.push({ records: records.length, finish });
      }),
    report: (sessionId, event) => told.push({ sessionId, event }),
    upload: (recordingId, recording) =>
      new Promise((resolve) => uploads.push({ id: recordingId, recording, finish: resolve })),
  });
});
afterEach(() => {
  recorder.close();
  rmSync(stateDir, { recursive: true, force: true });
});

const command = (op: SessionRecording['op'], recording: number, session = SESSION, isHeld = true) =>
  recorder.command(
    { type: 'session_recording', id: id(900), session_id: session, recording_id: id(recording), op },
    isHeld,
  );
const dir = () => join(stateDir, 'recordings');

/** Creates a session with one picture in its ring. */
function record(session = SESSION): PassThrough {
  recorder.begin(session, STREAM);
  const pipe = new PassThrough();
  recorder.follow(session, pipe, STREAM);
  pipe.write(KEYFRAME);
  return pipe;
}

async function keep(recording: number): Promise<void> {
  const before = told.length;
  expect(await command('freeze', recording)).toEqual({ ok: true });
  await expect.poll(() => writes.length).toBeGreaterThan(0);
  await writes.pop()?.finish({ ok: true, duration_ms: 1_234 });
  await expect.poll(() => told.length).toBe(before + 1);
}

describe('a freeze', () => {
  test('ends in one event, with a file that only this user reads', async () => {
    await recorder.open();
    record();
    await keep(1);
    expect(told).toEqual([
      {
        sessionId: SESSION,
        event: { recording_id: id(1), state: 'ready', bytes: 6, duration_ms: 1_234 },
      },
    ]);
    expect(readdirSync(dir())).toEqual([`${id(1)}.mp4`]);
    expect(statSync(dir()).mode & 0o777).toBe(0o700);
    expect(statSync(join(dir(), `${id(1)}.mp4`)).mode & 0o777).toBe(0o600);
  });

  test('that is repeated has no second effect, neither during the write nor afterwards', async () => {
    record();
    expect(await command('freeze', 1)).toEqual({ ok: true });
    expect(await command('freeze', 1)).toEqual({ ok: true });
    await expect.poll(() => writes.length).toBe(1);
    await writes[0]?.finish({ ok: true, duration_ms: 1 });
    await expect.poll(() => told.length).toBe(1);
    expect(await command('freeze', 1)).toEqual({ ok: true });
    expect([writes.length, told.length]).toEqual([1, 1]);
  });

  test('is refused as busy while another of the session is being written, and so is the fifth of a host', async () => {
    const others = [1, 2, 3, 4, 5].map((n) => `33333333-3333-4333-8333-00000000000${n}`);
    for (const session of others) record(session);
    expect(await command('freeze', 1, others[0])).toEqual({ ok: true });
    expect(await command('freeze', 2, others[0])).toMatchObject({ code: 'busy' });
    for (const n of [1, 2, 3]) expect(await command('freeze', 10 + n, others[n])).toEqual({ ok: true });
    expect(await command('freeze', 20, others[4])).toMatchObject({ code: 'busy' });
    // The files are written one after the other.
    for (let written = 0; written < 4; written++) {
      await expect.poll(() => writes.length).toBe(written + 1);
      await writes[written]?.finish({ ok: true, duration_ms: 1 });
    }
    await expect.poll(() => told.length).toBe(4);
    expect(await command('freeze', 20, others[4])).toEqual({ ok: true });
  });

  test.each([
    ['a session that is not recorded', true, 'unsupported'],
    ['a session that this host does not hold', false, 'no_such_session'],
  ])('of %s: %s', async (_, isHeld, code) => {
    expect(await command('freeze', 1, SESSION, isHeld)).toMatchObject({ ok: false, code });
  });

  test('contains the ring’s content at the time of the command', async () => {
    const pipe = record();
    expect(await command('freeze', 1)).toEqual({ ok: true });
    pipe.write(KEYFRAME);
    await expect.poll(() => writes.length).toBe(1);
    expect(writes[0]?.records).toBe(1);
  });

  test.each([
    ['nothing was recorded yet', 1e12, false],
    ['too little free space', 2 * 1024 ** 3, true],
  ])('fails with: %s, and leaves no file', async (words, free, withPicture) => {
    await recorder.open();
    if (withPicture) record();
    else recorder.begin(SESSION, STREAM);
    freeBytes = free;
    expect(await command('freeze', 1)).toEqual({ ok: true });
    await expect.poll(() => told.length).toBe(1);
    expect(told[0]?.event).toMatchObject({ state: 'failed', error: expect.stringContaining(words) });
    expect(readdirSync(dir())).toEqual([]);
  });

  test('that cannot be written reports the reason, and leaves no file', async () => {
    record();
    await command('freeze', 1);
    await expect.poll(() => writes.length).toBe(1);
    await writes[0]?.finish({ ok: false, why: `no ${'x'.repeat(600)}` });
    await expect.poll(() => told.length).toBe(1);
    expect(told[0]?.event.state).toBe('failed');
    expect(told[0]?.event.error?.length).toBe(256);
    expect(readdirSync(dir())).toEqual([]);
  });

  test('does not fill the disk beyond 4 GiB of recordings', async () => {
    await recorder.open();
    record();
    const large = join(dir(), `${id(7)}.mp4`);
    writeFileSync(large, '');
    truncateSync(large, 4 * 1024 ** 3 - 72 * 1024 ** 2 + 1);
    await command('freeze', 1);
    await expect.poll(() => told.length).toBe(1);
    expect(told[0]?.event.error).toMatch(/all the space/);
  });
});

describe('a ring', () => {
  test('of a stopped session is removed at once; of a failed session after ten minutes', async () => {
    record();
    recorder.end(SESSION, false);
    expect(await command('freeze', 1, SESSION, false)).toMatchObject({ code: 'no_such_session' });
    record();
    recorder.end(SESSION, true);
    clock.advance(10 * 60_000 - 1);
    expect(await command('freeze', 2, SESSION, false)).toEqual({ ok: true });
    clock.advance(1);
    expect(await command('freeze', 3, SESSION, false)).toMatchObject({ code: 'no_such_session' });
  });

  test('of failed sessions use at most 512 MiB, and the oldest is removed first', async () => {
    const large = encodeRecord(
      [{ kind: 'video', capturedAtMs: 1, data: Buffer.alloc(7 * 1024 * 1024) }],
      true,
    );
    const sessions = Array.from({ length: 10 }, (_, n) => `44444444-4444-4444-8444-00000000000${n}`);
    for (const session of sessions) {
      recorder.begin(session, { codec: 'h264' });
      const pipe = new PassThrough({ highWaterMark: 100 * 1024 * 1024 });
      recorder.follow(session, pipe, { bitrate_kbps: 500_000 });
      for (let n = 0; n < 8; n++) pipe.write(large);
      await expect.poll(() => pipe.readableLength).toBe(0);
      recorder.end(session, true);
    }
    // Nine rings of 56 MiB fit into the limit.
    expect(await command('freeze', 1, sessions[0], false)).toMatchObject({ code: 'no_such_session' });
    expect(await command('freeze', 2, sessions[1], false)).toEqual({ ok: true });
  });

  test('a worker that sends invalid data ends its stream, and earlier records stay', async () => {
    const pipe = record();
    pipe.write(Buffer.alloc(64, 0xff));
    await expect.poll(() => pipe.destroyed).toBe(true);
    expect(await command('freeze', 1)).toEqual({ ok: true });
    await expect.poll(() => writes.length).toBe(1);
    expect(writes[0]?.records).toBe(1);
  });

  test('a worker that floods tiny records is throttled: each counts like a picture', async () => {
    const pipe = record();
    const tiny = Buffer.concat(Array.from({ length: 8_192 }, () => encodeRecord([], false)));
    for (let n = 0; n < 16; n++) pipe.write(tiny);
    await expect.poll(() => pipe.isPaused()).toBe(true);
    expect(pipe.writableLength + pipe.readableLength).toBeGreaterThanOrEqual(15 * tiny.length);
  });

  test('the highest frame rate of a stream is read without delay', async () => {
    const pipe = record();
    for (let second = 0; second < 30; second++) {
      for (let n = 0; n < 240; n++) pipe.write(KEYFRAME);
      clock.advance(1_000);
    }
    await expect.poll(() => pipe.readableLength).toBe(0);
    expect(pipe.isPaused()).toBe(false);
  });

  test('a worker that floods is throttled', async () => {
    const pipe = record();
    const chunk = encodeRecord(
      [{ kind: 'video', capturedAtMs: 1, data: Buffer.alloc(4 * 1024 * 1024) }],
      true,
    );
    for (let n = 0; n < 16; n++) pipe.write(chunk);
    await expect.poll(() => pipe.isPaused()).toBe(true);
    expect(pipe.writableLength + pipe.readableLength).toBeGreaterThan(20 * 1024 * 1024);
    clock.advance(60_000);
    await expect.poll(() => pipe.readableLength + pipe.writableLength).toBeLessThan(40 * 1024 * 1024);
  });
});

describe('an upload', () => {
  test('sends one file at a time, and can be repeated afterwards', async () => {
    record();
    await keep(1);
    expect(await command('upload', 1)).toEqual({ ok: true });
    expect(await command('upload', 1)).toMatchObject({ code: 'busy' });
    expect(uploads.map(({ recording }) => recording.bytes)).toEqual([6]);
    uploads[0]?.finish();
    await expect.poll(async () => (await command('upload', 1)).ok).toBe(true);
    expect(uploads.length).toBe(2);
    uploads[1]?.finish();
  });

  test('of a missing or deleted recording: no_such_recording', async () => {
    expect(await command('upload', 1)).toMatchObject({ code: 'no_such_recording' });
    record();
    await keep(1);
    clock.advance(DAY_MS + 60_000);
    expect(await command('upload', 1)).toMatchObject({ code: 'no_such_recording' });
    expect(uploads).toEqual([]);
  });

  test('follows no link', async () => {
    await recorder.open();
    const secret = join(stateDir, 'node.json');
    writeFileSync(secret, 'the secret of the host');
    symlinkSync(secret, join(dir(), `${id(1)}.mp4`));
    expect(await command('upload', 1)).toMatchObject({ code: 'no_such_recording' });
  });
});

describe('recordings', () => {
  const old = (name: string, ageMs: number) => {
    writeFileSync(join(dir(), name), 'film');
    const at = new Date(clock.nowMs() - ageMs);
    utimesSync(join(dir(), name), at, at);
  };

  test('are deleted after a day, at the start and while the agent runs, and so are unfinished files', async () => {
    await files.open();
    old(`${id(1)}.mp4`, DAY_MS);
    old(`${id(2)}.mp4`, DAY_MS - 60 * 60_000);
    // A file that was written before the clock was set back.
    old(`${id(3)}.mp4`, -2 * DAY_MS);
    old(`${id(4)}.part`, 0);
    old('a note of somebody.txt', 2 * DAY_MS);
    await recorder.open();
    expect(readdirSync(dir()).sort()).toEqual([`${id(2)}.mp4`, 'a note of somebody.txt']);
    clock.advance(60 * 60_000);
    await expect.poll(() => existsSync(join(dir(), `${id(2)}.mp4`))).toBe(false);
  });
});
