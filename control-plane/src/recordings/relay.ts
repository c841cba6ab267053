import { Readable } from 'node:stream';
import { SECOND_MS } from '@footlight/platform';
import type { Bus, Subscription } from '../platform/bus/bus.ts';
import type { Platform } from '../platform/platform.ts';
import { recordingSubjects } from './subjects.ts';

/** Time limit for the first byte after the request to the host, and for pauses during the transfer. */
export const STILL_LIMIT_MS = 30 * SECOND_MS;
const BEGIN_LIMIT_MS = 5 * SECOND_MS;
/** Bytes per bus message. As base64 text they need a third more, and a NATS server accepts 1 MiB by default. */
const CHUNK_BYTES = 256 * 1024;

/** The bytes that a host sends, either on its own connection or through another replica. */
export interface SentRecording {
  body: Readable;
  bytes: number;
}

/**
 * Receives the bytes that a host sends to another replica.
 * @param accept claims the upload; returns false if no reader waits for it here
 * @returns an object that the caller must close at the end of the transfer
 */
export function offerToReplicas(
  { bus, random }: Pick<Platform, 'bus' | 'random'>,
  recordingId: string,
  accept: (hostId: string, upload: SentRecording) => boolean,
): Subscription {
  let wanted = (): void => undefined;
  let chunk: Subscription | null = null;
  const begin = bus.respond(recordingSubjects.begin, recordingId, async ({ host_id, bytes }) => {
    const arriving = new Readable({
      read: () => wanted(),
      destroy(error, done) {
        wanted();
        done(error);
      },
    });
    // Ignore the error: the administrator may disconnect before the stream is read, and an error without a listener
    // would end the process.
    arriving.on('error', () => undefined);
    if (!accept(host_id, { body: arriving, bytes })) return { way: null };
    const way = random.uuid();
    chunk = bus.respond(recordingSubjects.chunk, way, (message) => take(arriving, message));
    return { way };
  });

  async function take(
    arriving: Readable,
    { data, whole }: { data: string | null; whole: boolean },
  ): Promise<{ goesOn: boolean }> {
    if (arriving.destroyed) return { goesOn: false };
    const read = new Promise<void>((resolve) => {
      wanted = resolve;
    });
    if (data !== null) {
      if (!arriving.push(Buffer.from(data, 'base64'))) await read;
      return { goesOn: !arriving.destroyed };
    }
    if (!whole) arriving.destroy(new Error('the host went away'));
    else {
      const over = new Promise<void>((resolve) => arriving.once('close', () => resolve()));
      arriving.push(null);
      await over;
    }
    return { goesOn: arriving.readableEnded };
  }

  return {
    close() {
      begin.close();
      chunk?.close();
    },
  };
}

/**
 * Sends the bytes of a host over the bus to the replica with the waiting administrator, one message after another.
 * @returns whether all bytes were accepted; also false when no administrator waits
 */
export async function passToReplica(
  bus: Bus,
  recordingId: string,
  hostId: string,
  { body, bytes }: SentRecording,
): Promise<boolean> {
  const begun = await bus.request(
    recordingSubjects.begin,
    recordingId,
    { host_id: hostId, bytes },
    BEGIN_LIMIT_MS,
  );
  const way = begun.kind === 'reply' ? begun.reply.way : null;
  if (way === null) return false;
  const send = async (data: string | null, whole = false): Promise<boolean> => {
    const answer = await bus.request(recordingSubjects.chunk, way, { data, whole }, STILL_LIMIT_MS);
    return answer.kind === 'reply' && answer.reply.goesOn;
  };
  try {
    for await (const read of body) {
      const part = read as Buffer;
      for (let at = 0; at < part.length; at += CHUNK_BYTES)
        if (!(await send(part.toString('base64', at, at + CHUNK_BYTES)))) return false;
    }
  } catch {
    await send(null);
    return false;
  }
  return send(null, true);
}
