import type { z } from 'zod';
import type { ErrorCode } from './errors.ts';

/**
 * Authentication of an operation's callers.
 * - public: none
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
  /** Cap in bytes; default: 1 MiB. */
  readonly maxBytes?: number;
  /** Most values of its JSON; default: MAX_JSON_VALUES. */
  readonly maxValues?: number;
  /** An empty or absent body counts as `{}`. */
  readonly optional?: true;
  /** Handling of unknown top-level keys; default: refused. */
  readonly unknownKeys?: 'ignored' | 'kept';
}

/**
 * A body of one file. The server reads it up to the handler's cap, regardless of Content-Length; over the cap the
 * answer is 413 `validation_failed`.
 */
export interface UploadDeclaration {
  /** Required Content-Type; another or none is 400. The bytes may still have another type. */
  readonly mediaType: `${string}/*`;
  /** Default cap in bytes. */
  readonly defaultMaxBytes: number;
  /** The handler reads the body itself, as it comes; a longer one is refused by its Content-Length, which it must have. */
  readonly isPassedOn?: true;
}

/** Example parts as sent: `params` and `query` are texts, `body` and `response` JSON values. */
export interface OperationExample {
  readonly params?: { readonly [name: string]: string };
  readonly query?: { readonly [name: string]: string };
  readonly body?: unknown;
  /** Missing for an empty answer, or one that is no JSON. */
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
  /** Further explanation for callers. CommonMark. */
  readonly description?: string;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  /** Without this and `upload` a body is ignored. */
  readonly body?: BodyDeclaration;
  /** In place of `body`. */
  readonly upload?: UploadDeclaration;
  /** Success answers by status; null is an empty body. With another contentType: the schema of its data. */
  readonly responses: { readonly [status: number]: z.ZodType | null };
  /**
   * Refusals of this operation beyond those implied by caller, parameters and body, in the order of the checks, each
   * with its condition as a sentence: "The email or the username is taken."
   */
  readonly refusals?: { readonly [Code in ErrorCode]?: string };
  /** A valid request with its answer. Checked against the schemas by the test that walks the operations. */
  readonly example?: OperationExample;
  /** Headers of success answers, each with a sentence. */
  readonly headers?: { readonly [name: string]: string };
  /** Removed two minor versions after the one that sets it, or later. */
  readonly deprecated?: true;
  /** Default: application/json. A range such as image/*: each answer has its own type. */
  readonly contentType?: string;
  /** The operation answers by an upgrade to a WebSocket. */
  readonly websocket?: true;
  /** The operation exists only with this switch; otherwise its path is unknown. */
  readonly onlyWith?: OperationSwitch;
  /** A bearer operation that old clients may still call. */
  readonly versionGated?: false;
}

export type Operation = OperationDeclaration & { readonly errors: readonly ErrorCode[] };

/**
 * Adds every code that callers may get: the codes implied by caller, parameters and body come before its own
 * refusals, in the order of the checks.
 */
export function operation<const Declared extends OperationDeclaration>(
  declared: Declared,
): Declared & { readonly errors: readonly ErrorCode[] } {
  const codes = new Set<ErrorCode>();
  const bearer = declared.auth === 'user' || declared.auth === 'admin';
  if (declared.auth !== 'public' && declared.auth !== 'signaling-token') codes.add('unauthorized');
  if (bearer && declared.versionGated !== false) codes.add('client_too_old');
  if (declared.auth === 'admin') codes.add('forbidden');
  // Every request can be malformed, for example by an unexpected upgrade.
  codes.add('validation_failed');
  for (const code of Object.keys(declared.refusals ?? {}) as ErrorCode[]) codes.add(code);
  codes.add('internal');
  return { ...declared, errors: [...codes] };
}
