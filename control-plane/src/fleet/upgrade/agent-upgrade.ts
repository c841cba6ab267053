import { NODE_NAME_PATTERN } from '@footlight/protocol/agent';
import { sameDigest, sha256Hex } from '../../platform/digest.ts';
import { ApiError, unavailable } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  decideEnrollment,
  type EnrollmentFacts,
  type NodeCredential,
  readNodeCredential,
} from '../enrollment/enrollment.ts';
import { bindToken, tokenByHash } from '../enrollment/token-store.ts';
import { hostByName } from '../hosts/host-store.ts';
import { type CheckNodeSecret, SECRET_PATTERN } from './credentials.ts';
import type { CredentialLimits } from './limits.ts';

/** An agent whose upgrade was accepted. */
export type AgentIdentity = {
  nodeName: string;
  /** Boot id from the header; null: the agent sent none. */
  bootId: string | null;
} & (
  | { kind: 'known'; hostId: string }
  | {
      kind: 'enrolled';
      /** null: the fixed token was used. */
      tokenId: string | null;
      /**
       * Whether the one-use token was created for this host name. Only then may the agent take over the record of a
       * host that has already reported its capacity.
       */
      mintedForName: boolean;
      /** Releases the name. Called by the owner of the connection; a second call does nothing. */
      release: () => void;
    }
);

export interface UpgradeRequest {
  headers: Record<string, string | string[] | undefined>;
  addressKey: string;
  isUpgrade: boolean;
}

/** Names with an open connection, registered or in its handshake. */
export interface OpenNames {
  has(nodeName: string): boolean;
  /**
   * Reserves a name for an enrolling connection. @returns a function that releases the name; null when the name is
   * already reserved
   */
  reserve(nodeName: string): (() => void) | null;
  /** Number of host names whose connection has not registered yet. */
  readonly handshakes: number;
}

/**
 * Maximum hosts that wait for their registration at the same time. 1,000 hosts register in 0.6 to 0.9 s (`scripts/bench
 * storm`, two cores), so 2,000 stay far below the 15 s limit of one handshake step.
 */
const MAX_HANDSHAKES = 2_000;
/**
 * Largest Retry-After of a refused upgrade (seconds); a random value up to it spreads the retries of a refused fleet.
 */
const MAX_RETRY_SECS = 4;

/**
 * The checks before an agent's socket opens, in their fixed order: the request is not from a page; it is an upgrade;
 * this replica reaches the database; the client has not sent too many wrong credentials, or its secret is right; the
 * credential itself; the host's record; the binding of the token. Every wrong credential gets a 401 with the same body.
 */
export class AgentAuthentication {
  readonly #platform: Platform;
  readonly #limits: CredentialLimits;
  readonly #names: OpenNames;
  readonly #checkSecret: CheckNodeSecret;
  readonly #fixedTokenDigest: string | null;
  readonly #maxHandshakes: number;
  readonly #sendsHostsAway: () => boolean;
  /** Requests whose credential is being checked; each may become a handshake. */
  #checking = 0;

  constructor(
    platform: Platform,
    deps: {
      limits: CredentialLimits;
      names: OpenNames;
      checkSecret: CheckNodeSecret;
      maxHandshakes?: number | undefined;
      /** Whether hosts must connect to another replica at the moment. */
      sendsHostsAway: () => boolean;
    },
  ) {
    this.#platform = platform;
    this.#limits = deps.limits;
    this.#names = deps.names;
    this.#checkSecret = deps.checkSecret;
    this.#maxHandshakes = deps.maxHandshakes ?? MAX_HANDSHAKES;
    this.#sendsHostsAway = deps.sendsHostsAway;
    const fixed = platform.config.fleet.enrollmentToken;
    this.#fixedTokenDigest = fixed === null ? null : sha256Hex(fixed);
  }

  /**
   * @returns how the connection may continue; for an enrolling agent the name is reserved
   * @throws ApiError the refusal
   */
  async check(request: UpgradeRequest): Promise<AgentIdentity> {
    if (request.headers.origin !== undefined) {
      throw new ApiError('forbidden', { message: 'Pages may not open this socket.' });
    }
    if (!request.isUpgrade) {
      throw new ApiError('validation_failed', { message: 'This path only takes WebSocket upgrades.' });
    }
    if (this.#sendsHostsAway()) throw unavailable('The database is away; connect to another control plane.');
    const claimed = request.headers['x-service-node'];
    const claimedName = typeof claimed === 'string' ? claimed : '';
    const nowMs = this.#platform.clock.monotonicMs();
    const credential = readNodeCredential(request.headers);
    const waitMs = this.#limits.waitMs(request.addressKey, claimedName, nowMs);
    if (waitMs > 0) {
      const known = await this.#authenticateHeldOff(credential);
      if (known === null) throw new ApiError('rate_limited', { retryAfterSecs: Math.ceil(waitMs / 1_000) });
      this.#refuseOverload();
      return known;
    }

    this.#refuseOverload();
    this.#checking += 1;
    const identity = await this.#authenticate(credential, claimedName).finally(() => {
      this.#checking -= 1;
    });
    if (identity === null) {
      this.#limits.failed(request.addressKey, claimedName, nowMs);
      throw new ApiError('unauthorized', { message: 'The node credential is not valid.' });
    }
    return identity;
  }

  /**
   * Failures of another client must not lock out a host at the same address, so a right secret is accepted despite the
   * limiter. The work is bounded: only a text in the form of a secret is looked up, and concurrent look-ups share one
   * query. These look-ups do not count as handshakes; otherwise a flood of them would block the fleet.
   */
  async #authenticateHeldOff(credential: NodeCredential | null): Promise<AgentIdentity | null> {
    if (credential?.kind !== 'secret' || !SECRET_PATTERN.test(credential.secret)) return null;
    return this.#authenticate(credential, credential.nodeName);
  }

  /**
   * Refuses more upgrades than can be registered soon, so that agents retry later instead of missing a handshake
   * deadline.
   */
  #refuseOverload(): void {
    if (this.#names.handshakes + this.#checking < this.#maxHandshakes) return;
    const retryAfterSecs = 1 + Math.floor(this.#platform.random.number() * MAX_RETRY_SECS);
    throw unavailable('Too many hosts connect at once; try again in a moment.', retryAfterSecs);
  }

  /** @returns null: the request must be answered with 401 */
  async #authenticate(credential: NodeCredential | null, claimedName: string): Promise<AgentIdentity | null> {
    if (credential === null) {
      await this.#checkSecret(NODE_NAME_PATTERN.test(claimedName) ? claimedName : '', '');
      return null;
    }
    if (credential.kind === 'enroll') return this.#enroll(credential);
    const { nodeName, bootId } = credential;
    const host = await this.#checkSecret(nodeName, credential.secret);
    return host === null ? null : { kind: 'known', nodeName, bootId, hostId: host.id };
  }

  async #enroll(credential: NodeCredential & { kind: 'enroll' }): Promise<AgentIdentity | null> {
    const { nodeName, bootId, enrollId } = credential;
    const db = this.#platform.database.db;
    const host = await hostByName(db, nodeName);
    const facts: Omit<EnrollmentFacts, 'live'> = {
      nodeName,
      enrollId,
      token: await this.#findToken(credential.token),
      host: host === undefined ? null : { counts: host.first_capacity_at !== null },
      nowMs: this.#platform.clock.nowMs(),
    };
    const decision = decideEnrollment({ ...facts, live: this.#names.has(nodeName) });
    if (decision.kind === 'unauthorized') return null;
    if (decision.kind === 'conflict') throw new ApiError('conflict', { message: decision.message });
    // The name stays reserved until the connection ends, so two enrollments cannot race for one record.
    const release = this.#names.reserve(nodeName);
    if (release === null) throw new ApiError('conflict');
    try {
      if (decision.tokenId !== null) {
        const bound = await bindToken(db, decision.tokenId, { nodeName, enrollId }, facts.nowMs);
        if (!bound) {
          release();
          return null;
        }
      }
    } catch (error) {
      release();
      throw error;
    }
    return { ...decision, kind: 'enrolled', nodeName, bootId, release };
  }

  async #findToken(token: string): Promise<EnrollmentFacts['token']> {
    const given = sha256Hex(token);
    const row = await tokenByHash(this.#platform.database.db, given);
    if (this.#fixedTokenDigest !== null && sameDigest(given, this.#fixedTokenDigest))
      return { kind: 'fixed' };
    return row === undefined ? null : { kind: 'one_use', row };
  }
}
