import { Readable } from 'node:stream';
import { createLogger, systemClock, systemRandom } from '@footlight/platform';
import { expect, test } from 'vitest';
import { createInProcessBus } from '../platform/bus/in-process.ts';
import { offerToReplicas, passToReplica, type SentRecording } from './relay.ts';

const bus = createInProcessBus({ clock: systemClock, logger: createLogger('silent') });

/** A stream of these bytes in pieces. */
const source = (bytes: Buffer, piece = 64 * 1024): Readable =>
  Readable.from(
    (function* pieces() {
      for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece);
    })(),
    { objectMode: false },
  );

async function all(body: Readable): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of body) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

test('a recording comes whole, and its host learns of it', async () => {
  const file = Buffer.from(Array.from({ length: 700_000 }, (_, n) => n % 251));
  let taken: Promise<Buffer> | null = null;
  const offer = offerToReplicas(
    { bus, random: systemRandom },
    'r-1',
    (hostId, { body, bytes }: SentRecording) => {
      expect([hostId, bytes]).toEqual(['h-1', file.length]);
      taken = all(body);
      return true;
    },
  );
  expect(await passToReplica(bus, 'r-1', 'h-1', { body: source(file, 600_000), bytes: file.length })).toBe(
    true,
  );
  expect((await (taken as unknown as Promise<Buffer>)).equals(file)).toBe(true);
  offer.close();
});

test('nobody waits, or not for this host: nothing is read', async () => {
  const body = source(Buffer.alloc(10));
  expect(await passToReplica(bus, 'r-2', 'h-1', { body, bytes: 10 })).toBe(false);
  const offer = offerToReplicas({ bus, random: systemRandom }, 'r-2', () => false);
  expect(await passToReplica(bus, 'r-2', 'h-1', { body, bytes: 10 })).toBe(false);
  expect(body.readableFlowing).toBe(null);
  offer.close();
});

test('a reader that disconnects ends the upload of the host', async () => {
  const offer = offerToReplicas({ bus, random: systemRandom }, 'r-3', (_hostId, { body }) => {
    body.once('data', () => body.destroy());
    return true;
  });
  const body = source(Buffer.alloc(4 * 1024 * 1024));
  expect(await passToReplica(bus, 'r-3', 'h-1', { body, bytes: 4 * 1024 * 1024 })).toBe(false);
  offer.close();
});

test('a host that disconnects ends the download as incomplete', async () => {
  let end = (_error: Error): void => undefined;
  const ended = new Promise<Error>((resolve) => {
    end = resolve;
  });
  const offer = offerToReplicas({ bus, random: systemRandom }, 'r-4', (_hostId, { body }) => {
    body.once('error', (error: Error) => end(error));
    body.resume();
    return true;
  });
  const body = new Readable({
    read() {
      this.push(Buffer.alloc(1_000));
      this.destroy(new Error('gone'));
    },
  });
  expect(await passToReplica(bus, 'r-4', 'h-1', { body, bytes: 2_000 })).toBe(false);
  expect((await ended).message).toBe('the host went away');
  offer.close();
});
