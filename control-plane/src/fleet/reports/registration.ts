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
  claimHostByName,
  claimHosts,
  insertHost,
  storeRegistered,
  updateHost,
} from '../hosts/host-store.ts';
import { decideHostStatus } from '../hosts/status.ts';
import type { AgentIdentity } from '../upgrade/agent-upgrade.ts';
import { SECRET_BYTES } from '../upgrade/credentials.ts';
import { turnsOfHosts } from './turns-of-hosts.ts';

/** Feature of agents that run images. */
const FEATURE_OF_IMAGES = 'images';

/** capacity_reason between a registration and the connection's first capacity. */
const AWAITING_CAPACITY = 'awaiting fresh capacity report';

export interface RegistrationDeps {
  database: Database;
  random: Random;
  handlers: AgentHandlers;
  imageHandlers: ImageHandlers | null;
  /** Steps that run after the reconciliation, in this order. */
  steps: readonly ((tx: Tx, hosts: readonly RegisteringHost[]) => Promise<void>)[];
}

export interface RegistrationFacts {
  identity: AgentIdentity;
  connectionId: string;
  message: Register;
  nowMs: number;
  /** Whether the link is still open. A registration may wait for its rows longer than its agent waits for the answer. */
  isOpen(): boolean;
}

export type RegistrationOutcome =
  | {
      kind: 'registered';
      host: ClaimedHost;
      /** Set only after an enrollment; never stored. */
      secret: string | null;
      /** This registration created the record. */
      isNew: boolean;
      /** null: no handled report of this agent process is known. */
      lastSeq: number | null;
      afterCommit: () => void;
    }
  /** The record changed between upgrade and registration, or the link has closed; nothing is stored. */
  | { kind: 'gone'; why: string };

/** The agent may have registered at another replica since the link closed, and that registration must stay. */
const LINK_CLOSED = 'the link has closed';

/** Rows that `registerTogether` changes for one agent; null if only the registration can find them. */
export function rowsOfRegistration(identity: AgentIdentity, message: Register): RowsToLock | null {
  return identity.kind === 'known' ? rowsOfHost(identity.hostId, message) : null;
}

function rowsOfHost(hostId: string, message: Register): RowsToLock {
  const hosts = [hostId];
  const sessions = message.sessions.map(({ session_id }) => session_id);
  return { hosts, sessions, sessionsOfHosts: hosts, gpusOfHosts: hosts };
}

/** A registration whose record is locked. */
interface Claimed {
  facts: RegistrationFacts;
  host: ClaimedHost;
  secret: string | null;
  isNew: boolean;
}

/**
 * Registers agents inside a transaction: creates or takes over each record, resets everything that a former connection
 * reported, and reconciles the sessions. Placements see the hosts after the commit. Hosts share their statements,
 * because a reconnecting fleet registers a thousand at once. Registrations of one host run one after the other.
 */
export async function registerTogether(
  tx: Tx,
  deps: RegistrationDeps,
  all: readonly RegistrationFacts[],
): Promise<RegistrationOutcome[]> {
  const outcomes = new Map<RegistrationFacts, RegistrationOutcome>();
  for (const turn of turnsOfHosts(all, ({ identity }) => identity.nodeName)) {
    const claimed: Claimed[] = [];
    for (const claim of await claimRecords(tx, deps, turn)) {
      if (claim.kind === 'gone') outcomes.set(claim.facts, claim);
      else claimed.push(claim);
    }
    for (const [facts, outcome] of await registerClaimed(tx, deps, claimed)) outcomes.set(facts, outcome);
  }
  return all.map((facts) => outcomes.get(facts) as RegistrationOutcome);
}

async function registerClaimed(
  tx: Tx,
  deps: RegistrationDeps,
  claimed: readonly Claimed[],
): Promise<[RegistrationFacts, RegistrationOutcome][]> {
  if (claimed.length === 0) return [];
  const registering = claimed.map(({ facts: { message }, host }) => ({
    hostId: host.id,
    bootId: message.boot_id,
    sameBoot: host.boot_id === message.boot_id,
  }));
  const lastSeqs = claimed.map(({ host }, n) => (registering[n]?.sameBoot ? host.last_seq : null));
  await storeRegistered(
    tx,
    claimed.map(({ facts, host }, n) => ({
      id: host.id,
      status: decideHostStatus({ status: host.status, drainIntent: bool(host.drain_intent) }, 'register')
        .status,
      agent_version: facts.message.agent_version,
      features: toJson(facts.message.features),
      boot_id: facts.message.boot_id,
      last_seq: lastSeqs[n] ?? null,
      connection_id: facts.connectionId,
      last_registered_at: facts.nowMs,
    })),
    AWAITING_CAPACITY,
  );
  const returning = registering.map((host, n) => ({ host, message: (claimed[n] as Claimed).facts.message }));
  const reconciled = await deps.handlers.reconcile(
    tx,
    returning.map(({ host, message }) => ({ host, held: message.sessions })),
  );
  const withImages = returning.filter(({ message }) => message.features.includes(FEATURE_OF_IMAGES));
  const images = await deps.imageHandlers?.registered(
    tx,
    withImages.map(({ host, message }) => ({ host, listed: message.images })),
  );
  for (const step of deps.steps) await step(tx, registering);
  return claimed.map(({ facts, host, secret, isNew }, n) => [
    facts,
    {
      kind: 'registered',
      host,
      secret,
      isNew,
      lastSeq: lastSeqs[n] ?? null,
      afterCommit() {
        reconciled[n]?.afterCommit();
        images?.[withImages.findIndex((one) => one.host.hostId === host.id)]?.afterCommit();
      },
    },
  ]);
}

type Claim = (Claimed & { kind: 'claimed' }) | { kind: 'gone'; why: string; facts: RegistrationFacts };

async function claimRecords(
  tx: Tx,
  deps: RegistrationDeps,
  turn: readonly RegistrationFacts[],
): Promise<Claim[]> {
  const ids = turn.flatMap(({ identity }) => (identity.kind === 'known' ? [identity.hostId] : []));
  const known = await claimHosts(tx, ids);
  const claims: Claim[] = [];
  for (const facts of turn) {
    const { identity } = facts;
    if (identity.kind !== 'known') {
      claims.push(await claimEnrolled(tx, deps, facts, identity));
      continue;
    }
    const host = known.get(identity.hostId);
    if (host === undefined) claims.push({ kind: 'gone', why: 'the host was deleted', facts });
    else if (!facts.isOpen()) claims.push({ kind: 'gone', why: LINK_CLOSED, facts });
    else claims.push({ kind: 'claimed', facts, host, secret: null, isNew: false });
  }
  return claims;
}

/** The record of an enrolled node, with the rows of its host locked. */
async function claimEnrolled(
  tx: Tx,
  deps: RegistrationDeps,
  facts: RegistrationFacts,
  identity: AgentIdentity & { kind: 'enrolled' },
): Promise<Claim> {
  const secret = deps.random.bytes(SECRET_BYTES).toString('base64url');
  const secretHash = sha256Hex(secret);
  const existing = await claimHostByName(tx, identity.nodeName);
  if (!facts.isOpen()) return { kind: 'gone', why: LINK_CLOSED, facts };
  if (existing === undefined) {
    const host = newHost(deps.random.uuid(), identity, secretHash, facts.nowMs);
    await insertHost(tx, host);
    if (identity.tokenId !== null) await nameTokenHost(tx, identity.tokenId, host.id);
    await lockRows(tx, rowsOfHost(host.id, facts.message));
    return { kind: 'claimed', facts, host, secret, isNew: true };
  }
  const counts = existing.first_capacity_at !== null;
  if (counts && !identity.mintedForName)
    return { kind: 'gone', why: 'this name was enrolled meanwhile', facts };
  // If the host has reported its capacity before, its old secret stays valid until the new one is used, because the
  // answer may get lost.
  const secrets = {
    ...(counts ? { next_secret_hash: secretHash } : { secret_hash: secretHash, next_secret_hash: null }),
    enrollment_token_id: identity.tokenId,
  };
  await updateHost(tx, existing.id, secrets);
  if (identity.tokenId !== null) await nameTokenHost(tx, identity.tokenId, existing.id);
  await lockRows(tx, rowsOfHost(existing.id, facts.message));
  return { kind: 'claimed', facts, host: existing, secret, isNew: false };
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
