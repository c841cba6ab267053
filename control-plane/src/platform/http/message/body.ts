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

/**
 * Maximum bytes beyond the limit that are read and discarded, so that a client that is still sending can read the
 * answer.
 */
const DISCARD_BYTES = 16 * 1024 * 1024;

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads one JSON value, regardless of its content type; UTF-8.
 * @returns the value of JSON.parse (`__proto__` is an ordinary key); {} for an empty optional body
 * @throws ApiError 400 for an empty, oversized, truncated or malformed body, and for a body with too many values
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

/** The body of a file upload. */
export interface Upload {
  bytes: Buffer;
  /** Declared media type, lower case, without parameters; not verified here. */
  mediaType: string;
}

/**
 * Reads an upload.
 * @param contentType the client's header
 * @throws ApiError 400 for another Content-Type or a truncated body, 413 for a body over the limit
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

/** A body that the handler forwards while it arrives. The handler must read or destroy it. */
export interface PassedUpload {
  body: IncomingMessage;
  /** Length of the body; the HTTP parser enforces it. */
  bytes: number;
}

/**
 * Checks an upload without reading it.
 * @throws ApiError 400 for another Content-Type, no Content-Length or an empty body, 413 for a body over the limit
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

/** @returns the media type @throws ApiError 400 for another type than the declared one */
function requireType(contentType: string | undefined, { mediaType: declared }: UploadDeclaration): string {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  // Compares with the declared media range without its star.
  if (!mediaType.startsWith(declared.slice(0, -1))) throw invalid(`Content-Type: expected ${declared}`);
  return mediaType;
}

/** The rest of the body is not read, because it would need the same memory and time as the part before it. */
const tooMany = (): ApiError =>
  new ApiError('internal', {
    status: UNAVAILABLE_STATUS,
    message: 'Too many large requests come at once; try again in a moment.',
    retryAfterSecs: 1,
    headers: { connection: 'close' },
  });

/**
 * Reads a body of at most `maxBytes`.
 * @param claim memory of the body while it is received; released at the end
 * @param tooLongStatus status of the refusal of a longer body
 * @throws ApiError `validation_failed` when the body is longer or the client disconnected; 503 when the sender uses too
 *   much memory
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
