import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@footlight/platform';
import type { Codec } from '@footlight/protocol';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { encodeRecord, RecordReader, type StreamRecord, unitsOf } from '../media/recording/stream-records.ts';
import { codecPreload } from '../media/testing/codec-preload.ts';
import { framesOf } from '../media/testing/decode.ts';
import { TestHost, type TestSession } from '../media/testing/test-host.ts';
import { RecordingRing } from './recording-ring.ts';
import { writeRecording } from './recording-writer.ts';
import { nalUnitsOf, readTracks } from './testing/mp4-samples.ts';
import { nalUnitsOfPackets } from './testing/rtp-units.ts';

let host: TestHost;
let dir: string;

beforeAll(async () => {
  host = await TestHost.open(undefined, codecPreload());
  dir = mkdtempSync(join(tmpdir(), 'recording-'));
});

afterEach(() => host.clear());
afterAll(async () => {
  await host?.close();
  rmSync(dir, { recursive: true, force: true });
});

/** Collects a session's records like the agent. */
function collect(session: TestSession): { ring: RecordingRing; records: StreamRecord[] } {
  const ring = new RecordingRing();
  const records: StreamRecord[] = [];
  const reader = new RecordReader();
  session.worker.recording?.on('data', (chunk: Buffer) => {
    for (const record of reader.push(chunk)) {
      records.push(record);
      ring.add(record, performance.now());
    }
  });
  return { ring, records };
}

async function write(codec: Codec, records: readonly Buffer[], name: string) {
  const path = join(dir, name);
  const file = await open(path, 'wx+', 0o600);
  const answer = await writeRecording({ codec, records, file }, { clock: systemClock });
  await file.close();
  return { answer, path };
}

describe('a recorded session', () => {
  test('contains exactly the frames that its viewer got, in fragmented MP4', async () => {
    const session = await host.session();
    await session.start({ recorder: true });
    const { ring } = collect(session);
    const alice = await session.watch();
    const from = alice.markers;
    await alice.until('90 more frames', () => alice.markers >= from + 90);
    const { answer, path } = await write('h264', ring.frozen(), 'frames.mp4');
    expect(answer).toMatchObject({ ok: true });
    const [video, ...others] = readTracks(readFileSync(path));
    expect([video?.handler, video?.format, others]).toEqual(['vide', 'avc3', []]);
    const kept = new Set(video?.samples.map((sample) => Buffer.concat(nalUnitsOf(sample)).toString('hex')));
    const seen = framesOf(alice.video.map(({ data }) => data)).slice(1);
    const units = seen.map((packets) => Buffer.concat(nalUnitsOfPackets('h264', packets)).toString('hex'));
    // The viewer's newest frames are not compared, because they arrived after the ring was read.
    expect(units.slice(0, 80).filter((unit) => !kept.has(unit))).toEqual([]);
    expect(new Set(units).size).toBeGreaterThan(60);
  });

  test.each(['h265', 'av1'] as const)(
    'is written in %s, with every picture that was recorded',
    async (codec) => {
      const session = await host.session();
      await session.start({ recorder: true, codec });
      const { ring, records } = collect(session);
      await expect.poll(() => records.length, { timeout: 20_000 }).toBeGreaterThan(20);
      const frozen = ring.frozen();
      const { answer, path } = await write(codec, frozen, `${codec}.mp4`);
      expect(answer).toMatchObject({ ok: true });
      const [video] = readTracks(readFileSync(path));
      expect(video?.format).toBe({ h265: 'hev1', av1: 'av01' }[codec]);
      // The software encoder restarts at its first picture and then repeats its RTP timestamp.
      const reader = new RecordReader();
      const units = frozen.flatMap((record) => reader.push(record)).flatMap(unitsOf);
      const pictures = codec === 'av1' ? units : new Set(units.map(({ data }) => data.readUInt32BE(4)));
      expect(video?.samples.length).toBe([...pictures].length);
    },
  );

  test('stays playable when the picture’s size changes', async () => {
    const session = await host.session();
    await session.start({ recorder: true });
    const { ring, records } = collect(session);
    await expect.poll(() => records.length).toBeGreaterThan(30);
    session.worker.send({ type: 'display', request: 1, stream: { width: 160, height: 120 } });
    await session.first('display_done');
    const before = records.length;
    await expect.poll(() => records.length).toBeGreaterThan(before + 30);
    const frozen = ring.frozen();
    const { answer, path } = await write('h264', frozen, 'sizes.mp4');
    expect(answer).toMatchObject({ ok: true });
    expect(readTracks(readFileSync(path))[0]?.samples.length).toBe(frozen.length);
  });

  test('a session that is not recorded sends no records', async () => {
    const session = await host.startSession();
    const { records } = collect(session);
    const alice = await session.watch();
    await alice.until('20 frames', () => alice.markers > 20);
    expect(records).toEqual([]);
  });
});

describe('the writer', () => {
  test.each([
    ['no record', []],
    ['sound alone', [encodeRecord([{ kind: 'sound', capturedAtMs: 1, data: Buffer.alloc(30) }], true)]],
    [
      'a record with wrong unit lengths',
      [Buffer.concat([encodeRecord([], true).fill(9, 0, 1), Buffer.alloc(9, 255)])],
    ],
  ])('of %s reports why nothing was written', async (name, records) => {
    const { answer } = await write('h264', records, `${name}.mp4`);
    expect(answer).toEqual({ ok: false, why: expect.any(String) });
  });

  test('of invalid pictures ends with a reason or a file, and never hangs', async () => {
    const noise = Array.from({ length: 50 }, (_, n) =>
      encodeRecord([{ kind: 'video', capturedAtMs: n * 16, data: Buffer.alloc(400, n * 7) }], n === 0),
    );
    for (const codec of ['h264', 'h265', 'av1'] as const) {
      const { answer, path } = await write(codec, noise, `noise-${codec}.mp4`);
      expect(answer).toMatchObject({ ok: expect.any(Boolean) });
      expect(statSync(path).size).toBeLessThan(1e6);
    }
  });
});
