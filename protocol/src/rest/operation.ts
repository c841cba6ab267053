import type { z } from 'zod';
import type { ErrorCode } from './errors.ts';

/**
 * How callers of an operation prove who they are.
 * - public: no proof
 * - user, admin: `Authorization: Bearer <access token>`; admin also needs the role
 * - setup-token: header X-Service-Setup-Token
 * - dev-key: header X-Service-Dev-Key
 * - node: the agent's node credential
 * - signaling-token: single-use token in the query
 */
export type AuthKind = 'public' | 'user' | 'admin' | 'setup-token' | 'dev-key' | 'node' | 'signaling-token';

/** Variables of the control plane that switch operations on. */
export type OperationSwitch = 'SERVICE_DEV_AGENT_AUTH';

export interface BodyDeclaration {
  readonly schema: z.ZodType;
  /** Cap in bytes; left out: 1 MiB. */
  readonly maxBytes?: number;
  /** An empty or absent body then counts as `{}`. */
  readonly optional?: true;
  /** What becomes of top-level keys that the schema does not name. Left out: they are refused. */
  readonly unknownKeys?: 'ignored' | 'kept';
}

/**
 * A body that is one file, as its bytes. The server reads it whole, up to the cap that its handler names, whatever
 * Content-Length says; over the cap the answer is 413 `validation_failed`.
 */
export interface UploadDeclaration {
  /** What the client's Content-Type must say; another or none is 400. The bytes may still turn out as something else. */
  readonly mediaType: `${string}/*`;
  /** Cap in bytes where the operator sets no other. */
  readonly defaultMaxBytes: number;
}

/** Parts as they travel: `params` and `query` are texts, `body` and `response` the JSON values. */
export interface OperationExample {
  readonly params?: { readonly [name: string]: string };
  readonly query?: { readonly [name: string]: string };
  readonly body?: unknown;
  /** Left out where the answer is empty or no JSON. */
  readonly response?: unknown;
}

/** One HTTP operation as its area declares it. */
export interface OperationDeclaration {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path with `{name}` for parameters. */
  readonly path: `/${string}`;
  readonly auth: AuthKind;
  readonly summary: string;
  /** What else a caller should know, in sentences. CommonMark. */
  readonly description?: string;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  /** Without this and `upload` whatever body arrives is ignored. */
  readonly body?: BodyDeclaration;
  /** In place of `body`. */
  readonly upload?: UploadDeclaration;
  /** Success answers by status; null is an empty body. With another contentType: the schema of its data. */
  readonly responses: { readonly [status: number]: z.ZodType | null };
  /**
   * What this operation may refuse beyond what its kind of caller, parameters and body already imply, in the order in
   * which it is checked, each with the condition in a sentence: "The email or the username is taken."
   */
  readonly refusals?: { readonly [Code in ErrorCode]?: string };
  /** A request that works, and what it answers. Held against the schemas by the test that walks the operations. */
  readonly example?: OperationExample;
  /** Headers of success answers that a caller should know, each with a sentence. */
  readonly headers?: { readonly [name: string]: string };
  /** It goes away two minor versions from the one that says so, or later. */
  readonly deprecated?: true;
  /** Left out: application/json. A range such as image/*: each answer names its own. */
  readonly contentType?: string;
  /** The operation answers by an upgrade to a WebSocket. */
  readonly websocket?: true;
  /** The operation exists only where this switch is on; elsewhere its path is one that nobody declared. */
  readonly onlyWith?: OperationSwitch;
  /** A bearer operation that old clients may still call. */
  readonly versionGated?: false;
}

export type Operation = OperationDeclaration & { readonly errors: readonly ErrorCode[] };

/**
 * Completes a declaration with every code its callers may see: the codes implied by its kind of caller, its
 * parameters and its body come before its own refusals, in the order in which they are checked.
 */
export function operation<const Declared extends OperationDeclaration>(
  declared: Declared,
): Declared & { readonly errors: readonly ErrorCode[] } {
  const codes = new Set<ErrorCode>();
  const bearer = declared.auth === 'user' || declared.auth === 'admin';
  if (declared.auth !== 'public' && declared.auth !== 'signaling-token') codes.add('unauthorized');
  if (bearer && declared.versionGated !== false) codes.add('client_too_old');
  if (declared.auth === 'admin') codes.add('forbidden');
  // Even where nothing is asked a request can be malformed: it may want to become a WebSocket.
  codes.add('validation_failed');
  for (const code of Object.keys(declared.refusals ?? {}) as ErrorCode[]) codes.add(code);
  codes.add('internal');
  return { ...declared, errors: [...codes] };
}
