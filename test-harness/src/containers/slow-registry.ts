import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delay, systemClock } from '@footlight/platform';

/** Bytes of a layer between two pauses. */
const CHUNK_BYTES = 512 * 1024;
const PAUSE_MS = 150;

/** A registry on the loopback interface that forwards the images of another registry, and sends their layers slowly. */
export interface SlowRegistry {
  /** `127.0.0.1:port` */
  readonly name: string;
  /** Requests for layers and configurations (count). */
  blobsAsked(): number;
  /** Ends the pauses; the registry then sends at full speed. */
  hurry(): void;
  close(): void;
}

export async function startSlowRegistry(origin: string): Promise<SlowRegistry> {
  let pauseMs = PAUSE_MS;
  let blobs = 0;
  const server = createServer((asked, answer) => {
    const isBlob = asked.method === 'GET' && (asked.url ?? '').includes('/blobs/');
    if (isBlob) blobs += 1;
    const onward = request(
      `http://${origin}${asked.url}`,
      { method: asked.method, headers: { ...asked.headers, host: origin } },
      async (from) => {
        answer.writeHead(from.statusCode ?? 502, from.headers);
        try {
          for await (const part of from) {
            for (let at = 0; at < part.length; at += CHUNK_BYTES) {
              answer.write(part.subarray(at, at + CHUNK_BYTES));
              // Simulates a slow network; no test waits for this time to pass.
              if (isBlob && pauseMs > 0) await delay(systemClock, pauseMs / (CHUNK_BYTES / part.length));
            }
          }
        } catch {
          // The engine has closed the connection.
        }
        answer.end();
      },
    );
    onward.on('error', () => answer.destroy());
    asked.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    name: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    blobsAsked: () => blobs,
    hurry: () => {
      pauseMs = 0;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
