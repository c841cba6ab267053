/**
 * Writes one recording: reads the records of a ring, writes them as fragmented MP4 without encoding again, answers once
 * and exits. The records come from a media worker that receives data from the network. Therefore this process drops its
 * rights before it reads them, and its parent limits time, memory and the length of the file.
 */

import { readSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { dieWithParent, exitNow, initialise, Pipeline } from '@footlight/gst';
import { confineProcess } from '@footlight/gst/seccomp';
import { errorText } from '@footlight/platform';
import type { Codec } from '@footlight/protocol';
import { MAX_RECORDING_BYTES } from '@footlight/protocol/agent';
import { appFilter } from '../../runtime/confinement/seccomp.ts';
import { durationPatches, HEAD_BYTES } from '../recording/mp4-durations.ts';
import { type CodedUnit, RecordReader, unitsOf } from '../recording/stream-records.ts';
import { FILE_FD, RECORDS_FD, type WriteAnswer, writeRequest } from '../recording/write-messages.ts';
import { AUDIO_PAYLOAD_TYPE, VIDEO_PAYLOAD_TYPE } from '../webrtc/sdp-offer.ts';
import { openParentChannel } from './child-entry.ts';

/** Length of a fragment. A player can show a truncated file up to its last complete fragment. Chosen, not measured. */
const FRAGMENT_MS = 2_000;
/**
 * Interval at which the bus is polled. After an error, a pipeline delivers nothing more, not even end-of-stream, so
 * only the bus shows the error.
 */
const BUS_POLL_MS = 200;
/** Largest valid time. A ring contains one minute, but pictures may pause while the worker starts. */
const MAX_TIME_MS = 600_000;

const RTP = 'application/x-rtp,media=video,clock-rate=90000';
/**
 * Elements that convert the data of a record into the input of mp4mux. Parameter sets stay in the stream (avc3, hev1),
 * because the picture's size may change during the recording.
 */
const VIDEO: Readonly<Record<Codec, string>> = {
  h264: `caps=${RTP},encoding-name=H264,payload=${VIDEO_PAYLOAD_TYPE} ! rtph264depay ! video/x-h264,stream-format=byte-stream,alignment=au ! h264parse ! video/x-h264,stream-format=avc3,alignment=au`,
  h265: `caps=${RTP},encoding-name=H265,payload=${VIDEO_PAYLOAD_TYPE} ! rtph265depay ! video/x-h265,stream-format=byte-stream,alignment=au ! h265parse ! video/x-h265,stream-format=hev1,alignment=au`,
  av1: 'caps=video/x-av1,stream-format=obu-stream,alignment=tu ! av1parse ! video/x-av1,stream-format=obu-stream,alignment=tu',
};
const SOUND = `caps=application/x-rtp,media=audio,clock-rate=48000,encoding-name=OPUS,encoding-params=(string)2,payload=${AUDIO_PAYLOAD_TYPE} ! rtpopusdepay ! opusparse`;
const SOURCE = 'format=time max-bytes=0 max-buffers=0 max-time=0';

const channel = openParentChannel({
  onMessage: (raw) => {
    void write(raw)
      .catch((error: unknown): WriteAnswer => ({ ok: false, why: errorText(error).slice(0, 512) }))
      .then((answer) => channel.send(answer, () => exitNow(0)));
  },
  onBroken: () => process.exit(1),
  onClosed: () => process.exit(1),
});
dieWithParent();

async function write(raw: unknown): Promise<WriteAnswer> {
  const { codec, uid } = writeRequest.parse(raw);
  // Called before this process changes its user, because the plugin registry is in the agent's home.
  initialise();
  if (uid !== null) {
    process.setgroups?.([]);
    process.setgid?.(uid);
    process.setuid?.(uid);
    confineProcess(appFilter(false));
    dieWithParent();
  }
  const units = await readUnits();
  const video = units.filter(({ kind }) => kind === 'video');
  const beginMs = video[0]?.capturedAtMs;
  const endMs = video.at(-1)?.capturedAtMs;
  if (beginMs === undefined || endMs === undefined) return { ok: false, why: 'no picture was recorded' };
  const timeOf = ({ capturedAtMs }: CodedUnit) => Math.min(MAX_TIME_MS, capturedAtMs - beginMs);
  // Sound before the first picture is dropped.
  const placed = units.filter((unit) => timeOf(unit) >= 0);
  const durationMs = Math.max(0, Math.min(MAX_TIME_MS, endMs - beginMs));
  await mux(
    codec,
    placed.map((unit) => ({ ...unit, ptsMs: timeOf(unit) })),
  );
  writeDurations(durationMs);
  return { ok: true, duration_ms: Math.round(durationMs) };
}

async function readUnits(): Promise<CodedUnit[]> {
  const reader = new RecordReader();
  const units: CodedUnit[] = [];
  for await (const chunk of new Socket({ fd: RECORDS_FD, readable: true, writable: false })) {
    for (const record of reader.push(chunk as Buffer)) units.push(...unitsOf(record));
  }
  return units.filter(({ capturedAtMs }) => Number.isFinite(capturedAtMs));
}

async function mux(codec: Codec, units: readonly (CodedUnit & { ptsMs: number })[]): Promise<void> {
  const hasSound = units.some(({ kind }) => kind === 'sound');
  const pipeline = Pipeline.launch(
    [
      // An appsink is used instead of a filesink, because mp4mux must not get a seekable sink (see mp4-durations.ts).
      `mp4mux name=mux fragment-duration=${FRAGMENT_MS} ! appsink name=out sync=false`,
      `appsrc name=video ${SOURCE} ${VIDEO[codec]} ! mux.`,
      // Without sound there is no sound source, because the muxer would wait for its data.
      ...(hasSound ? [`appsrc name=sound ${SOURCE} ${SOUND} ! mux.`] : []),
    ].join(' '),
  );
  await pipeline.setState('playing');
  for (const { kind, data, ptsMs } of units) pipeline.appSrc(kind).push(data, ptsMs);
  pipeline.appSrc('video').end();
  if (hasSound) pipeline.appSrc('sound').end();
  // No time limit here, because the parent ends this process when it takes too long.
  const out = pipeline.appSink('out');
  for (let written = 0; ; ) {
    const sample = await out.pull(BUS_POLL_MS);
    const failed = pipeline.pollBus().find((message) => message.kind === 'error');
    if (failed?.kind === 'error') throw new Error(`${failed.source}: ${failed.message}`);
    if (sample === null && out.ended) break;
    if (sample === null) continue;
    for (const { data } of sample.read()) written += writeAll(data);
    sample.release();
    if (written > MAX_RECORDING_BYTES) throw new Error('the recording is too long');
  }
  await pipeline.dispose();
}

/** @returns the length of the data */
function writeAll(data: Buffer): number {
  for (let at = 0; at < data.length; ) at += writeSync(FILE_FD, data, at);
  return data.length;
}

function writeDurations(durationMs: number): void {
  const head = Buffer.alloc(HEAD_BYTES);
  const read = readSync(FILE_FD, head, 0, HEAD_BYTES, 0);
  for (const { at, value } of durationPatches(head.subarray(0, read), durationMs)) {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    writeSync(FILE_FD, bytes, 0, bytes.length, at);
  }
}
