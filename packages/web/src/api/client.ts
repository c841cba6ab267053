import type { Open } from '@footlight/protocol';
import type {
  DerivedTile,
  ErrorCode,
  OperationId,
  Operations,
  Params,
  Query,
  SentBody,
  Success,
} from '@footlight/protocol/rest';
import { clock } from '../clock.ts';
import { forgetRefusedLogin, readToken } from './auth-store.ts';
import type { OperationTable } from './operation-address.ts';
import { operationTable } from './operation-table.ts';
import { callBegan } from './server-state.ts';

type Nothing = Record<never, never>;
type Part<Name extends string, Value> = Value extends undefined
  ? { [K in Name]?: never }
  : Nothing extends Value
    ? { [K in Name]?: Value }
    : { [K in Name]: Value };

/** Input of an operation's call: the parts that it declares. */
export type CallInput<Id extends OperationId> = Part<'params', Params<Id>> &
  Part<'body', SentBody<Id>> &
  (Operations[Id] extends { upload: object } ? { file: Blob } : { file?: never }) & {
    /** Values as in the URL, before the operation converts them. */
    query?: { [Name in keyof Query<Id>]?: string | number | boolean | undefined };
    headers?: Record<string, string>;
    signal?: AbortSignal;
    /** The request continues after its page is closed. */
    keepalive?: boolean;
    /**
     * Sends the request without cookies. Browsers use other TCP connections for such requests, so it does not wait for
     * a connection that hangs since an interruption of the network.
     */
    ownConnection?: boolean;
  };

/** Code of a refusal. The page itself creates `network` and `unreadable`. */
type FailureOfCall = Open<ErrorCode> | 'network' | 'unreadable';

/** Thrown for a refused or failed call. `status` 0: there was no answer. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';
  readonly status: number;
  readonly code: FailureOfCall;
  readonly liveSessions: number | undefined;
  readonly sessionId: string | undefined;
  readonly derivedTiles: DerivedTile[] | undefined;
  /** From Retry-After; undefined: the answer has no such header. */
  readonly retryAfterSecs: number | undefined;

  constructor(status: number, code: FailureOfCall, message: string, extras: Partial<ApiFailure> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.liveSessions = extras.liveSessions;
    this.sessionId = extras.sessionId;
    this.derivedTiles = extras.derivedTiles;
    this.retryAfterSecs = extras.retryAfterSecs;
  }
}

const addresses: OperationTable = { ...operationTable };

/** Makes operations of another area callable. The pages that call these operations load their table. */
export function addOperations(table: OperationTable): void {
  Object.assign(addresses, table);
}

let whenSignedOut: () => void = () => {};

/** Sets the action that runs after the server has refused the token: the page opens the login. */
export function onSignedOut(callback: () => void): void {
  whenSignedOut = callback;
}

/**
 * Time limit of a read until its answer is complete. After this time the read is repeated. It is four times as long as
 * a slow answer, which takes 5 s.
 */
const READ_LIMIT_MS = 20_000;

/**
 * Calls one operation and returns its success body (undefined: empty). A 401 on an operation that needs a token removes
 * the stored login. Throws ApiFailure for every refusal, and for a read that takes READ_LIMIT_MS.
 */
export async function call<Id extends OperationId>(id: Id, input: CallInput<Id>): Promise<Success<Id>> {
  if (addresses[id]?.method !== undefined) return readAnswer(id, input);
  const limit = new AbortController();
  const follow = () => limit.abort(input.signal?.reason);
  if (input.signal?.aborted) follow();
  input.signal?.addEventListener('abort', follow);
  const timer = clock.setTimeout(() => limit.abort(), READ_LIMIT_MS);
  try {
    return await readAnswer(id, { ...input, signal: limit.signal });
  } catch (error) {
    if (!limit.signal.aborted || input.signal?.aborted) throw error;
    callBegan()(0);
    throw new ApiFailure(0, 'network', 'The server did not answer in time.');
  } finally {
    timer.cancel();
    input.signal?.removeEventListener('abort', follow);
  }
}

async function readAnswer<Id extends OperationId>(id: Id, input: CallInput<Id>): Promise<Success<Id>> {
  const response = await send(id, input);
  if (response.status === 204 || response.headers.get('content-length') === '0')
    return undefined as Success<Id>;
  try {
    return (await response.json()) as Success<Id>;
  } catch (cause) {
    if (input.signal?.aborted) throw cause;
    throw new ApiFailure(response.status, 'unreadable', 'The answer could not be read.');
  }
}

/** Like `call`, but returns the response, for streams. Throws ApiFailure for every refusal. */
export async function send<Id extends OperationId>(id: Id, input: CallInput<Id>): Promise<Response> {
  const address = addresses[id];
  if (address === undefined) throw new Error(`${id} is not loaded`);
  const { path, method = 'GET', open = false } = address;
  const token = readToken();
  const headers: Record<string, string> = { Accept: 'application/json, text/event-stream', ...input.headers };
  if (!open && token !== null) headers.Authorization = `Bearer ${token}`;
  if (input.body !== undefined) headers['Content-Type'] = 'application/json';
  if (input.file !== undefined) headers['Content-Type'] = input.file.type;
  const isRead = method === 'GET';
  const ended = callBegan();
  let response: Response;
  try {
    response = await fetch(addressOf(path, input.params as object | undefined, input.query), {
      method,
      headers,
      body: input.file ?? (input.body === undefined ? null : JSON.stringify(input.body)),
      signal: input.signal ?? null,
      keepalive: input.keepalive ?? false,
      credentials: input.ownConnection ? 'omit' : 'same-origin',
      cache: 'no-store',
    });
  } catch (cause) {
    ended(isRead && !input.signal?.aborted ? 0 : null);
    if (input.signal?.aborted) throw cause;
    throw new ApiFailure(0, 'network', 'The server could not be reached.');
  }
  if (response.ok) {
    ended(response.status);
    return response;
  }
  const failure = await failureOf(response);
  // Other codes with such a status are about the fleet, while the server itself works.
  const isFault = failure.status >= 500 && (failure.code === 'internal' || failure.code === 'unreadable');
  ended(isFault ? (isRead ? failure.status : null) : 200);
  if (!open && failure.status === 401 && failure.code === 'unauthorized' && token === readToken()) {
    forgetRefusedLogin();
    whenSignedOut();
  }
  throw failure;
}

function addressOf(path: string, params: object | undefined, query: object | undefined): string {
  const given = (params ?? {}) as Record<string, unknown>;
  const filled = path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(String(given[name])));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  }
  return search.size === 0 ? filled : `${filled}?${search}`;
}

async function failureOf(response: Response): Promise<ApiFailure> {
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  const extras = Number.isFinite(retryAfter) ? { retryAfterSecs: retryAfter } : {};
  const body: unknown = await response.json().catch(() => null);
  const error = (body as { error?: Record<string, unknown> } | null)?.error;
  if (typeof error?.code !== 'string') return new ApiFailure(response.status, 'unreadable', '', extras);
  return new ApiFailure(response.status, error.code as Open<ErrorCode>, String(error.message ?? ''), {
    ...extras,
    ...(typeof error.live_sessions === 'number' ? { liveSessions: error.live_sessions } : {}),
    ...(typeof error.session_id === 'string' ? { sessionId: error.session_id } : {}),
    ...(Array.isArray(error.derived_tiles) ? { derivedTiles: error.derived_tiles as DerivedTile[] } : {}),
  });
}
