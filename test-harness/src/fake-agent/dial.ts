import type { IncomingMessage } from 'node:http';
import { type ErrorEnvelope, errorEnvelope } from '@footlight/protocol/rest';
import { WebSocket } from 'ws';

/** Upper limit for the body of a refusal. The control plane sends small bodies. */
const MAX_REFUSAL_BYTES = 64 * 1024;

/** The control plane refused the WebSocket upgrade. */
export class UpgradeRefused extends Error {
  readonly status: number;
  /** null: the body was not an error envelope. */
  readonly envelope: ErrorEnvelope | null;
  readonly headers: IncomingMessage['headers'];

  constructor(status: number, envelope: ErrorEnvelope | null, headers: IncomingMessage['headers']) {
    super(`upgrade refused with ${status} ${envelope?.error.code ?? ''}`.trimEnd());
    this.name = 'UpgradeRefused';
    this.status = status;
    this.envelope = envelope;
    this.headers = headers;
  }

  get code(): string | null {
    return this.envelope?.error.code ?? null;
  }
}

/**
 * Opens a WebSocket with exactly these headers.
 * @param url http(s) base or ws(s) address; /agent/ws is added to a base without a path
 * @throws UpgradeRefused, or the connection's error
 */
export function dialAgentSocket(url: string, headers: Record<string, string>): Promise<WebSocket> {
  const address = new URL(url.replace(/^http/, 'ws'));
  if (address.pathname === '/') address.pathname = '/agent/ws';
  const socket = new WebSocket(address, {
    headers,
    perMessageDeflate: false,
    // Tests use the generated, self-signed certificate.
    rejectUnauthorized: false,
    handshakeTimeout: 60_000,
  });
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(socket));
    socket.once('error', reject);
    socket.once('unexpected-response', (_request, response) => {
      readRefusal(response).then(
        (refusal) => reject(refusal),
        (error: unknown) => reject(error instanceof Error ? error : new Error(String(error))),
      );
    });
  });
}

async function readRefusal(response: IncomingMessage): Promise<UpgradeRefused> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_REFUSAL_BYTES) break;
    chunks.push(chunk as Buffer);
  }
  return new UpgradeRefused(
    response.statusCode ?? 0,
    parseEnvelope(Buffer.concat(chunks).toString('utf8')),
    response.headers,
  );
}

function parseEnvelope(text: string): ErrorEnvelope | null {
  try {
    const parsed = errorEnvelope.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
