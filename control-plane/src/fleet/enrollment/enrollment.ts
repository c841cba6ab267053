import { isWireUuid } from '@footlight/protocol';
import { ENROLL_ID_PATTERN, NODE_NAME_PATTERN } from '@footlight/protocol/agent';

/** Credential of a node, read from its request headers. */
export type NodeCredential = {
  nodeName: string;
  /** null: the agent did not send its process id. */
  bootId: string | null;
} & (
  | { kind: 'secret'; secret: string }
  /** enrollId identifies a repeated enrollment of the same agent; null: the agent sent none. */
  | { kind: 'enroll'; token: string; enrollId: string | null }
);

/** Tokens and secrets have 43 characters; a longer credential is refused without a look-up. */
const MAX_CREDENTIAL_LENGTH = 512;
const AUTHORIZATION = /^(bearer|enroll) +([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?) *$/i;

type Headers = Record<string, string | string[] | undefined>;

/**
 * Reads the node credential from request headers.
 * @param headers lower-case names, as Node provides them
 * @returns null when a part is missing or malformed; callers then answer as if the secret were wrong
 */
export function readNodeCredential(headers: Headers): NodeCredential | null {
  const nodeName = headers['x-service-node'];
  const authorization = headers.authorization;
  const bootId = headers['x-service-boot'] ?? null;
  const enrollId = headers['x-service-enroll'] ?? null;
  if (typeof nodeName !== 'string' || !NODE_NAME_PATTERN.test(nodeName)) return null;
  if (bootId !== null && !isWireUuid(bootId)) return null;
  if (typeof authorization !== 'string' || authorization.length > MAX_CREDENTIAL_LENGTH) return null;
  const match = AUTHORIZATION.exec(authorization);
  if (match === null) return null;
  const [, scheme, credential] = match as unknown as [string, string, string];
  if (scheme.toLowerCase() === 'bearer') return { kind: 'secret', nodeName, bootId, secret: credential };
  if (enrollId !== null && (typeof enrollId !== 'string' || !ENROLL_ID_PATTERN.test(enrollId))) return null;
  return { kind: 'enroll', nodeName, bootId, token: credential, enrollId };
}

/** A stored one-use token. */
export interface OneUseToken {
  id: string;
  node_name: string | null;
  bound_node_name: string | null;
  bound_enroll_id: string | null;
  expires_at: number;
  used_at: number | null;
}

export interface EnrollmentFacts {
  nodeName: string;
  enrollId: string | null;
  /** null: no token has this value. */
  token: { kind: 'fixed' } | { kind: 'one_use'; row: OneUseToken } | null;
  /** null: no record has this name. counts: the host's agent has reported its capacity before. */
  host: { counts: boolean } | null;
  /** A connection of this name is open: it is registered or in its handshake. */
  live: boolean;
  nowMs: number;
}

export type EnrollmentDecision =
  | { kind: 'unauthorized' }
  | { kind: 'conflict'; message: string }
  /** tokenId null: the fixed token, which needs no binding. */
  | { kind: 'enroll'; tokenId: string | null; mintedForName: boolean };

/**
 * Decides whether a token may enroll a name. Any token may create a host record, or take over a record whose agent
 * never reported its capacity. After the first report only a token that was minted for the host's name can take over
 * its record. Pure. The caller binds the token by a conditional update, because another agent may have bound the token
 * first. Source: docs/hosts.md, "Enrollment tokens".
 */
export function decideEnrollment(facts: EnrollmentFacts): EnrollmentDecision {
  const { token, host, nodeName } = facts;
  if (token === null) return { kind: 'unauthorized' };
  if (token.kind === 'one_use' && !mayUse(token.row, facts)) return { kind: 'unauthorized' };
  if (facts.live) {
    return { kind: 'conflict', message: 'An agent of this name is connected.' };
  }
  const mintedForName = token.kind === 'one_use' && token.row.node_name === nodeName;
  if (host?.counts === true && !mintedForName) {
    return {
      kind: 'conflict',
      message: 'This name is enrolled: delete the host, or mint a token for it.',
    };
  }
  return { kind: 'enroll', tokenId: token.kind === 'one_use' ? token.row.id : null, mintedForName };
}

function mayUse(row: OneUseToken, facts: EnrollmentFacts): boolean {
  if (row.used_at !== null || row.expires_at <= facts.nowMs) return false;
  if (row.node_name !== null && row.node_name !== facts.nodeName) return false;
  if (row.bound_node_name === null) return true;
  return row.bound_node_name === facts.nodeName && row.bound_enroll_id === facts.enrollId;
}
