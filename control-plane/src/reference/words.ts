/** Texts of the published contract that are not part of the protocol's declarations. */
import {
  type AuthKind,
  DEFAULT_BODY_BYTES,
  ERRORS,
  type ErrorCode,
  type Operation,
  UNAVAILABLE_STATUS,
} from '@footlight/protocol/rest';

export const INTRODUCTION = `This is the whole HTTP contract of the service.

## Authentication

Most operations want \`Authorization: Bearer <access token>\`. A token comes from \`auth.login\`, is shown once, and ends by itself, by \`auth.logout\`, or with the device that it is bound to. Operations marked as for administrators also need an account with that role. The few other kinds of proof stand with the operations that take them.

A client that tells its version in \`X-Service-Client-Version\` (such as \`1.4.0\`) gets 426 once the service no longer takes it.

## Requests

Bodies are one JSON value in UTF-8, of at most ${inBytes(DEFAULT_BODY_BYTES)} where nothing else is said; \`Content-Type\` has no meaning for them. A key that an operation does not know is refused, not ignored, where nothing else is said. \`null\` and a missing key mean the same for an optional field where nothing else is said; in a change, a missing key leaves the field as it is. GET operations answer HEAD too.

Ids are UUIDs. The service makes them at random and writes them in lower case; it reads them in either. Times are RFC 3339 in UTC with milliseconds, such as \`2026-11-20T10:00:00.000Z\`. Names carry their unit: \`_ms\`, \`_kbps\`, \`_mb\`.

## Paging

Lists that can grow take \`limit\` and \`cursor\` and answer \`items\` and \`next_cursor\`. Hand \`next_cursor\` back as \`cursor\` for the next page; null means that there is none. A page may have fewer items than \`limit\` although others follow. A cursor is opaque, and good for the list that made it.

## Errors

Every refusal has the body \`Error\`, with a \`code\` for programs and a \`message\` for people. Branch on the code, and on the status where the code is new to you; never on the message. Checks are made in this order: token (401), client version (426), role (403), path, query and body (400), ownership (403), existence (404), state (409). Unknown paths answer 404 \`not_found\`, known ones with another method 405 \`method_not_allowed\` and \`Allow\`. 429 and 503 may carry \`Retry-After\` in seconds.

## Versions

Within a version the contract only grows: new operations, new optional fields in requests, new fields in answers, new error codes, and new values where a field says that it may grow. Clients ignore what they do not know. What is going to be taken away is marked \`deprecated\` for at least two minor versions first.`;

/** Status of `validation_failed` for an upload that is too large. */
const UPLOAD_TOO_LONG_STATUS = 413;

/** Meaning of a success status. */
export const SUCCESS: { readonly [status: number]: string } = {
  101: 'The connection is a WebSocket from here on.',
  200: 'Done.',
  201: 'Made.',
  202: 'Accepted; it goes on after the answer.',
  204: 'Done; the answer has no body.',
  302: 'A redirect to the address in `Location`.',
  304: 'The copy of the client is still valid.',
};

/** Authentication schemes of callers; null: no authentication is needed. */
export const SCHEMES: {
  readonly [Kind in AuthKind]: { name: string; refused: string; scheme: { [key: string]: string } } | null;
} = {
  public: null,
  user: bearer(),
  admin: bearer(),
  'setup-token': {
    name: 'setupToken',
    refused: 'The setup token is missing or wrong.',
    scheme: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Service-Setup-Token',
      description:
        'The token that the service writes to its log and to a file until somebody claims the instance.',
    },
  },
  'dev-key': {
    name: 'devKey',
    refused: 'The key is missing or wrong.',
    scheme: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Service-Dev-Key',
      description: 'The key that the operator has set for development.',
    },
  },
  node: {
    name: 'nodeCredential',
    refused: 'The credential of the host is missing, malformed or wrong.',
    scheme: {
      type: 'apiKey',
      in: 'header',
      name: 'Authorization',
      description:
        '`Bearer <secret>` of an enrolled host, or `Enroll <token>` of one that enrolls; with `X-Service-Node: <name>`.',
    },
  },
  'signaling-token': {
    name: 'signalingToken',
    refused: 'The token is wrong.',
    scheme: {
      type: 'apiKey',
      in: 'query',
      name: 'token',
      description: 'Single-use token from `sessions.launch` or `sessions.signalingToken`, good for a minute.',
    },
  },
};

function bearer() {
  return {
    name: 'bearer',
    refused:
      'The bearer token is missing, unknown, expired or revoked, or its account is disabled. Sign in again.',
    scheme: {
      type: 'http',
      scheme: 'bearer',
      description:
        'Access token from `auth.login`. Its account must be an administrator where an operation says so.',
    },
  };
}

/** A refusal of an operation. */
export interface DeclaredError {
  code: ErrorCode;
  status: number;
  /** The condition, as a sentence. */
  when: string;
}

/** Refusals of an operation: first those that follow from caller, parameters and body, then its own. */
export function refusalsOf(operation: Operation): DeclaredError[] {
  const refusals: DeclaredError[] = [];
  const add = (code: ErrorCode, when: string, status: number = ERRORS[code].status) =>
    refusals.push({ code, status, when });
  const proof = SCHEMES[operation.auth];
  const bearerOnes = operation.auth === 'user' || operation.auth === 'admin';
  if (operation.errors.includes('unauthorized') && proof) add('unauthorized', proof.refused);
  if (bearerOnes && operation.versionGated !== false)
    add('client_too_old', '`X-Service-Client-Version` is below the oldest version that the service takes.');
  if (operation.auth === 'admin') add('forbidden', 'The account of the caller is no administrator.');
  add('validation_failed', malformed(operation));
  if (operation.upload)
    add('validation_failed', 'The file is longer than the service takes.', UPLOAD_TOO_LONG_STATUS);
  // An operation's own `internal` means that something it depends on is temporarily unavailable.
  for (const [code, when] of Object.entries(operation.refusals ?? {}) as [ErrorCode, string][])
    add(code, when, code === 'internal' ? UNAVAILABLE_STATUS : undefined);
  add('internal', 'Something went wrong on the server; its log says what.');
  add('internal', unavailable(operation), UNAVAILABLE_STATUS);
  return refusals;
}

function malformed(operation: Operation): string {
  const parts = [
    operation.params && 'The path is not valid.',
    operation.query && !operation.websocket && 'The query is not valid.',
    operation.upload && 'The body is missing or of another type.',
    operation.body && 'The body is no JSON, is too long, or is not valid.',
  ].filter((part) => typeof part === 'string');
  return parts.length > 0 ? parts.join(' ') : 'The request is malformed.';
}

/** A byte limit in words. */
export function inBytes(max: number): string {
  return max % (1024 * 1024) === 0 ? `${max / 1024 / 1024} MiB` : `${max / 1024} KiB`;
}

function unavailable(operation: Operation): string {
  const busy = 'The database is busy or unavailable; try again in a moment.';
  return operation.method === 'GET' ? busy : `${busy} Or the disk of the server is full.`;
}
