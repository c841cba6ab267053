import type { z } from 'zod';
import type { ErrorCode } from './errors.ts';

/**
 * Authentication of an operation's callers.
 * - public: no authentication
 * - user, admin: `Authorization: Bearer <access token>`; admin also needs the role
 * - setup-token: header X-Service-Setup-Token
 * - dev-key: header X-Service-Dev-Key
 * - node: the agent's node credential
 * - signaling-token: single-use token in the query
 */
export type AuthKind = 'public' | 'user' | 'admin' | 'setup-token' | 'dev-key' | 'node' | 'signaling-token';

/** Variables of the control plane that enable operations. */
export type OperationSwitch = 'SERVICE_DEV_AGENT_AUTH' | 'SERVICE_OIDC_ISSUER';

export interface BodyDeclaration {
  readonly schema: z.ZodType;
  /** Largest body in bytes; default: 1 MiB. */
  readonly maxBytes?: number;
  /** Largest number of values in the body's JSON; default: MAX_JSON_VALUES. */
  readonly maxValues?: number;
  /** true: an empty or missing body counts as `{}`. */
  readonly optional?: true;
  /** Handling of unknown top-level keys; default: the request is refused. */
  readonly unknownKeys?: 'ignored' | 'kept';
}

/**
 * A body that is one file. The server reads at most the handler's limit, regardless of Content-Length; for a longer
 * body the answer is 413 `validation_failed`.
 */
export interface UploadDeclaration {
  /**
   * Required Content-Type; the answer to another type or a missing one is 400. The bytes themselves may have another
   * type.
   */
  readonly mediaType: `${string}/*`;
  /** Default limit in bytes. */
  readonly defaultMaxBytes: number;
  /**
   * true: the handler itself reads the body as a stream. The request must have a Content-Length, so that a body that is
   * too long is refused before it is read.
   */
  readonly isPassedOn?: true;
}

/**
 * Parts of an example in the form in which they are sent: `params` and `query` are texts, `body` and `response` are
 * JSON values.
 */
export interface OperationExample {
  readonly params?: { readonly [name: string]: string };
  readonly query?: { readonly [name: string]: string };
  readonly body?: unknown;
  /** Missing: the answer is empty or not JSON. */
  readonly response?: unknown;
}

/** One HTTP operation, as its area declares it. */
export interface OperationDeclaration {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path, in which `{name}` is a parameter. */
  readonly path: `/${string}`;
  readonly auth: AuthKind;
  readonly summary: string;
  /** Further explanation for callers. CommonMark. */
  readonly description?: string;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  /** If `body` and `upload` are missing, a sent body is ignored. */
  readonly body?: BodyDeclaration;
  /** Replaces `body`. */
  readonly upload?: UploadDeclaration;
  /** Success answers by status; null: the body is empty. With another contentType, it is the schema of the data. */
  readonly responses: { readonly [status: number]: z.ZodType | null };
  /**
   * Refusals of this operation, in the order of the checks, each with its condition as a sentence. Refusals that follow
   * from caller, parameters and body are added automatically. Example: "The email or the username is taken."
   */
  readonly refusals?: { readonly [Code in ErrorCode]?: string };
  /** A valid request with its answer. A test of all operations checks it against the schemas. */
  readonly example?: OperationExample;
  /** Headers of success answers, each with a description. */
  readonly headers?: { readonly [name: string]: string };
  /** Marks the operation as deprecated. It may be removed two minor versions later. */
  readonly deprecated?: true;
  /** Default: application/json. With a range such as image/*, each answer has its own type. */
  readonly contentType?: string;
  /** true: the operation is answered by an upgrade to a WebSocket. */
  readonly websocket?: true;
  /** The operation exists only if this switch is on; otherwise its path is unknown. */
  readonly onlyWith?: OperationSwitch;
  /** false: old clients may still call this operation, although it needs a bearer token. */
  readonly versionGated?: false;
}

export type Operation = OperationDeclaration & { readonly errors: readonly ErrorCode[] };

/**
 * Adds all codes that callers may get. The codes that follow from caller, parameters and body precede the operation's
 * own refusals, in the order of the checks.
 */
export function operation<const Declared extends OperationDeclaration>(
  declared: Declared,
): Declared & { readonly errors: readonly ErrorCode[] } {
  const codes = new Set<ErrorCode>();
  const bearer = declared.auth === 'user' || declared.auth === 'admin';
  if (declared.auth !== 'public' && declared.auth !== 'signaling-token') codes.add('unauthorized');
  if (bearer && declared.versionGated !== false) codes.add('client_too_old');
  if (declared.auth === 'admin') codes.add('forbidden');
  // Any request can be malformed, for example by an unexpected upgrade.
  codes.add('validation_failed');
  for (const code of Object.keys(declared.refusals ?? {}) as ErrorCode[]) codes.add(code);
  codes.add('internal');
  return { ...declared, errors: [...codes] };
}
