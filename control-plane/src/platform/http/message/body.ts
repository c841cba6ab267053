import type { IncomingMessage } from 'node:http';
import { hasTooManyValues, MAX_JSON_VALUES } from '@footlight/protocol';
import {
  type BodyDeclaration,
  DEFAULT_BODY_BYTES,
  UNAVAILABLE_STATUS,
  type UploadDeclaration,
} from '@footlight/protocol/rest';
import { ApiError, invalid } from '../../errors.ts';
import { ChunkCount } from '../connection/connection-guard.ts';
import type { BodyClaim } from './body-memory.ts';

/** Discarded bytes beyond the cap, so that a client that is still sending can read the answer. */
const DISCARD_BYTES = 16 * 1024 * 1024;

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads one JSON value, regardless of its content type; UTF-8.
 * @returns the value of JSON.parse (`__proto__` is an ordinary key); {} for an empty optional body
 * @throws ApiError 400 for an empty, oversized, truncated or malformed body, and for one of too many values
 */
export async function readBody(
  request: IncomingMessage,
  declared: BodyDeclaration,
  claim: BodyClaim,
): Promise<unknown> {
  const bytes = await readBytes(request, declared.maxBytes ?? DEFAULT_BODY_BYTES, claim);
  if (bytes.length === 0) {
    if (declared.optional) return {};
    throw invalid('A JSON body is required.');
  }
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw notJson();
  }
  const { maxValues = MAX_JSON_VALUES } = declared;
  if (hasTooManyValues(text, maxValues)) throw invalid(`The body has more than ${maxValues} values.`);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw notJson();
  }
}

const notJson = (): ApiError => invalid('The body is not one JSON value.');

/** A body of one file. */
export interface Upload {
  bytes: Buffer;
  /** Declared media type, lower case, without parameters; not verified here. */
  mediaType: string;
}

/**
 * Reads an upload.
 * @param contentType the client's header
 * @throws ApiError 400 for another Content-Type or a truncated body, 413 for one over the cap
 */
export async function readUpload(
  request: IncomingMessage,
  contentType: string | undefined,
  declared: UploadDeclaration,
  maxBytes: number,
  claim: BodyClaim,
): Promise<Upload> {
  const mediaType = requireType(contentType, declared);
  return { bytes: await readBytes(request, maxBytes, claim, 413), mediaType };
}

/** A body that the handler passes on as it comes, and has to read or destroy. */
export interface PassedUpload {
  body: IncomingMessage;
  /** Its length; the parser of HTTP holds the client to it. */
  bytes: number;
}

/**
 * Checks an upload without reading it.
 * @throws ApiError 400 for another Content-Type, no Content-Length or an empty body, 413 for one over the cap
 */
export function passUpload(
  request: IncomingMessage,
  contentType: string | undefined,
  declared: UploadDeclaration,
  maxBytes: number,
): PassedUpload {
  requireType(contentType, declared);
  const bytes = Number(request.headers['content-length'] ?? 0);
  const connection = { headers: { connection: 'close' } };
  if (!Number.isSafeInteger(bytes) || bytes <= 0)
    throw new ApiError('validation_failed', {
      message: 'Content-Length: expected that of a file',
      ...connection,
    });
  if (bytes > maxBytes)
    throw new ApiError('validation_failed', {
      ...{ status: 413, message: `The body is longer than ${maxBytes} bytes.` },
      ...connection,
    });
  return { body: request, bytes };
}

/** @returns the media type @throws ApiError 400 for another than the declared one */
function requireType(contentType: string | undefined, { mediaType: declared }: UploadDeclaration): string {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  // The declared range without its star.
  if (!mediaType.startsWith(declared.slice(0, -1))) throw invalid(`Content-Type: expected ${declared}`);
  return mediaType;
}

/** The rest is not read: it would take memory, or be waited for, like the part before it. */
const tooMany = (): ApiError =>
  new ApiError('internal', {
    status: UNAVAILABLE_STATUS,
    message: 'Too many large requests come at once; try again in a moment.',
    retryAfterSecs: 1,
    headers: { connection: 'close' },
  });

/**
 * Reads a body of at most `maxBytes`.
 * @param claim what it holds in memory while it comes; released at the end
 * @param tooLongStatus status of the refusal of a longer one
 * @throws ApiError `validation_failed` when it is longer or the client went away; 503 when its sender holds too much
 */
export function readBytes(
  request: IncomingMessage,
  maxBytes: number,
  claim: BodyClaim,
  tooLongStatus: 400 | 413 = 400,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (request.destroyed && !request.readableEnded) {
      reject(invalid('The body was cut off.'));
      return;
    }
    let chunks: Buffer[] = [];
    const count = new ChunkCount();
    const tooLong = (close: boolean) =>
      new ApiError('validation_failed', {
        status: tooLongStatus,
        message: `The body is longer than ${maxBytes} bytes.`,
        ...(close && { headers: { connection: 'close' } }),
      });
    const settle = (finish: () => void) => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      claim.release();
      // Errors of the connection after the answer are ignored.
      request.on('error', () => undefined);
      finish();
    };
    const onData = (chunk: Buffer) => {
      if (!count.add(chunk)) {
        chunks = [];
        request.socket.destroy();
      } else if (count.bytes <= maxBytes) {
        chunks.push(chunk);
        if (!claim.add(chunk.length)) {
          chunks = [];
          settle(() => reject(tooMany()));
        }
      } else {
        chunks = [];
        claim.release();
        if (count.bytes > maxBytes + DISCARD_BYTES) settle(() => reject(tooLong(true)));
      }
    };
    const onEnd = () =>
      settle(() => (count.bytes > maxBytes ? reject(tooLong(false)) : resolve(Buffer.concat(chunks))));
    const onClose = () => settle(() => reject(invalid('The body was cut off.')));
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}
