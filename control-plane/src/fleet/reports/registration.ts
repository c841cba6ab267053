import type { Random } from '@footlight/platform';
import type { Register } from '@footlight/protocol/agent';
import { bool, toJson } from '../../platform/database/codec.ts';
import type { Database, Tx } from '../../platform/database/database.ts';
import { lockRows, type RowsToLock } from '../../platform/database/index.ts';
import type { HostsTable } from '../../platform/database/tables/fleet.ts';
import { sha256Hex } from '../../platform/digest.ts';
import { nameTokenHost } from '../enrollment/token-store.ts';
import type { AgentHandlers, ImageHandlers, RegisteringHost } from '../fleet.ts';
import {
  type ClaimedHost,
  claimHost,
  claimHostByName,
  insertHost,
  type Registered,
  storeRegistered,
  updateHost,
} from '../hosts/host-store.ts';
import { decideHostStatus } from '../hosts/status.ts';
import type { AgentIdentity } from '../upgrade/agent-upgrade.ts';
import { SECRET_BYTES } from '../upgrade/credentials.ts';

/** Feature of agents that run images. */
const FEATURE_OF_IMAGES = 'images';

/** capacity_reason between a registration and the connection's first capacity. */
const AWAITING_CAPACITY = 'awaiting fresh capacity report';

export interface RegistrationDeps {
  database: Database;
  random: Random;
  handlers: AgentHandlers;
  imageHandlers: ImageHandlers | null;
  /** Run after the reconciliation, in order. */
  steps: readonly ((tx: Tx, host: RegisteringHost) => Promise<void>)[];
}

export interface RegistrationFacts {
  identity: AgentIdentity;
  connectionId: string;
  message: Register;
  nowMs: number;
}

export type RegistrationOutcome =
  | {
      kind: 'registered';
      host: ClaimedHost;
      /** Only after an enrollment; never stored. */
      secret: string | null;
      /** This registration created the record. */
      isNew: boolean;
      /** null: no handled report of this agent process is known. */
      lastSeq: number | null;
      afterCommit: () => void;
    }
  /** The record changed between upgrade and registration. */
  | { kind: 'gone'; why: string };

/** Rows that `register` changes; null where only the registration finds out. */
export function rowsOfRegistration(identity: AgentIdentity, message: Register): RowsToLock | null {
  if (identity.kind !== 'known') return null;
  const hosts = [identity.hostId];
  const sessions = message.sessions.map(({ session_id }) => session_id);
  return { hosts, sessions, sessionsOfHosts: hosts, gpusOfHosts: hosts };
}

/**
 * Registers an agent inside a transaction: creates or takes over the record, resets everything that a former
 * connection reported, and reconciles the sessions. Placements see the host after the commit.
 */
export async function register(
  tx: Tx,
  deps: RegistrationDeps,
  facts: RegistrationFacts,
): Promise<RegistrationOutcome> {
  const claimed = await claimRecord(tx, deps, facts);
  if (claimed.kind === 'gone') return claimed;
  const { host, secret, isNew } = claimed;
  const { message, connectionId, nowMs } = facts;
  if (rowsOfRegistration(facts.identity, message) === null) {
    const hosts = [host.id];
    const sessions = message.sessions.map(({ session_id }) => session_id);
    await lockRows(tx, { sessions, sessionsOfHosts: hosts, gpusOfHosts: hosts });
  }
  const sameBoot = host.boot_id === message.boot_id;
  const standing = decideHostStatus(
    { status: host.status, drainIntent: bool(host.drain_intent) },
    'register',
  );
  const reset: Registered = {
    status: standing.status,
    agent_version: message.agent_version,
    features: toJson(message.features),
    pending_restart: 0,
    capacity_detection: 'unavailable',
    capacity_reason: AWAITING_CAPACITY,
    boot_id: message.boot_id,
    last_seq: sameBoot ? host.last_seq : null,
    connection_id: connectionId,
    last_registered_at: nowMs,
  };
  await storeRegistered(tx, host.id, reset);
  const registering = { hostId: host.id, bootId: message.boot_id, sameBoot };
  const reconciled = await deps.handlers.reconcile(tx, registering, message.sessions);
  const images = message.features.includes(FEATURE_OF_IMAGES)
    ? await deps.imageHandlers?.registered(tx, registering, message.images)
    : undefined;
  for (const step of deps.steps) await step(tx, registering);
  return {
    kind: 'registered',
    host,
    secret,
    isNew,
    lastSeq: reset.last_seq,
    afterCommit() {
      reconciled.afterCommit();
      images?.afterCommit();
    },
  };
}

type Claim =
  | { kind: 'claimed'; host: ClaimedHost; secret: string | null; isNew: boolean }
  | { kind: 'gone'; why: string };

async function claimRecord(tx: Tx, deps: RegistrationDeps, facts: RegistrationFacts): Promise<Claim> {
  const { identity } = facts;
  if (identity.kind === 'known') {
    const host = await claimHost(tx, identity.hostId);
    return host === undefined
      ? { kind: 'gone', why: 'the host was deleted' }
      : { kind: 'claimed', host, secret: null, isNew: false };
  }
  const secret = deps.random.bytes(SECRET_BYTES).toString('base64url');
  const secretHash = sha256Hex(secret);
  const existing = await claimHostByName(deps.database, tx, identity.nodeName);
  if (existing === undefined) {
    const host = newHost(deps.random.uuid(), identity, secretHash, facts.nowMs);
    await insertHost(tx, host);
    if (identity.tokenId !== null) await nameTokenHost(tx, identity.tokenId, host.id);
    return { kind: 'claimed', host, secret, isNew: true };
  }
  const counts = existing.first_capacity_at !== null;
  if (counts && !identity.mintedForName) return { kind: 'gone', why: 'this name was enrolled meanwhile' };
  // The old secret of a record that counts stays valid until the new one is used, because the answer may get lost.
  const secrets = {
    ...(counts ? { next_secret_hash: secretHash } : { secret_hash: secretHash, next_secret_hash: null }),
    enrollment_token_id: identity.tokenId,
  };
  await updateHost(tx, existing.id, secrets);
  if (identity.tokenId !== null) await nameTokenHost(tx, identity.tokenId, existing.id);
  return { kind: 'claimed', host: existing, secret, isNew: false };
}

function newHost(
  id: string,
  identity: AgentIdentity & { kind: 'enrolled' },
  secretHash: string,
  nowMs: number,
): HostsTable {
  return {
    id,
    node_name: identity.nodeName,
    status: 'offline',
    drain_intent: 0,
    agent_version: null,
    features: '[]',
    cpu_cores: null,
    mem_mb: null,
    cpu_model: null,
    storage: null,
    capacity_detection: 'unavailable',
    capacity_reason: AWAITING_CAPACITY,
    readiness: null,
    readiness_reported_at: null,
    codecs: null,
    codec_throughput: null,
    encoders: null,
    effective_settings: null,
    console_capabilities: null,
    settings_overrides: '{}',
    console_config: null,
    pending_restart: 0,
    secret_hash: secretHash,
    next_secret_hash: null,
    enrollment_token_id: identity.tokenId,
    first_capacity_at: null,
    boot_id: null,
    last_seq: null,
    connection_id: null,
    last_registered_at: null,
    last_heartbeat_at: null,
    created_at: nowMs,
  };
}
