import { type JsonObject, nonterminalStates } from '@footlight/protocol';
import type { Device } from '@footlight/protocol/rest';
import type { ExpressionBuilder } from 'kysely';
import {
  bool,
  type Executor,
  flag,
  fromJson,
  instant,
  lockForRemoval,
  type Schema,
  type Tx,
} from '../../platform/database/index.ts';
import { type Probe, readProbe } from './probe.ts';

/** Maximum number of an account's devices that have neither a live session nor a valid token. */
const MAX_IDLE_DEVICES = 200;
/**
 * Maximum number of an account's devices without a live session, including those with a valid token. The bound keeps
 * one list below 4 MB, although a person may sign in from a new device every five seconds.
 */
const MAX_DEVICES = 500;
/** Rows per clean-up. Devices are created one at a time, so seldom more than one or two must be deleted. */
const FORGET_BATCH = 50;

/** Facts of a device that was just used. */
export interface SeenDevice {
  /** Id for a new row. */
  id: string;
  userId: string;
  deviceKey: string;
  /** null: the request had none; the stored value stays. */
  userAgent: string | null;
  /** JSON object that replaces the stored one; missing: the stored one stays. */
  capabilities?: string;
}

interface DeviceSighting {
  id: string;
  first_seen_at: number;
  last_seen_at: number;
}

/**
 * Stores that a device was used, and creates its row if the device is new. Name and trust stay. A new device evicts the
 * unused devices that were seen longest ago.
 */
export async function touchDevice(tx: Tx, device: SeenDevice, nowMs: number): Promise<DeviceSighting> {
  const { userAgent, capabilities } = device;
  const row = await tx
    .insertInto('devices')
    .values({
      id: device.id,
      user_id: device.userId,
      device_key: device.deviceKey,
      name: null,
      trusted: 0,
      user_agent: userAgent,
      capabilities: capabilities ?? '{}',
      first_seen_at: nowMs,
      last_seen_at: nowMs,
    })
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'device_key']).doUpdateSet({
        last_seen_at: nowMs,
        ...(userAgent !== null && { user_agent: userAgent }),
        ...(capabilities !== undefined && { capabilities }),
      }),
    )
    .returning(['id', 'first_seen_at', 'last_seen_at'])
    .executeTakeFirstOrThrow();
  if (row.id === device.id) await forgetIdleDevices(tx, device, nowMs);
  return row;
}

/**
 * Evicts devices beyond the bounds, those seen longest ago first. A device with a live session always stays. A device
 * with a valid token stays up to MAX_DEVICES; beyond that bound its tokens are revoked as well, because people can
 * revoke tokens only through a listed device.
 */
async function forgetIdleDevices(tx: Tx, added: SeenDevice, nowMs: number): Promise<void> {
  const others = tx
    .selectFrom('devices')
    .select('id')
    .where('user_id', '=', added.userId)
    .where('id', '!=', added.id)
    .orderBy('last_seen_at', 'desc')
    .orderBy('id')
    .limit(FORGET_BATCH);
  const beyond = await others.offset(MAX_IDLE_DEVICES - 1).execute();
  if (beyond.length === 0) return;
  const surplus = await others
    .where((device) => device.not(hasLiveSession(device)))
    .offset(MAX_DEVICES - 1)
    .execute();
  const ids = [...new Set([...beyond, ...surplus].map(({ id }) => id))];
  await lockForRemoval(tx, 'devices', ids);
  if (surplus.length > 0) {
    await tx
      .updateTable('auth_tokens')
      .set({ revoked_at: nowMs })
      .where(
        'device_id',
        'in',
        surplus.map(({ id }) => id),
      )
      .where('revoked_at', 'is', null)
      .execute();
  }
  await tx
    .deleteFrom('devices')
    .where('id', 'in', ids)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('auth_tokens')
            .select('auth_tokens.id')
            .whereRef('auth_tokens.device_id', '=', 'devices.id')
            .where('auth_tokens.revoked_at', 'is', null)
            .where('auth_tokens.expires_at', '>', nowMs),
        ),
      ),
    )
    .where((device) => device.not(hasLiveSession(device)))
    .execute();
}

const hasLiveSession = ({ exists, selectFrom }: ExpressionBuilder<Schema, 'devices'>) =>
  exists(
    selectFrom('sessions')
      .select('sessions.id')
      .whereRef('sessions.device_id', '=', 'devices.id')
      .where('sessions.state', 'in', nonterminalStates),
  );

/**
 * Whether an account has a signed-in device with this key: at least one token of this device was not revoked. Expired
 * tokens count until the janitor deletes them, because people sign in again when their token has expired.
 * @param email trimmed and lowercased
 */
export async function isSignedInDevice(db: Executor, email: string, deviceKey: string): Promise<boolean> {
  const row = await db
    .selectFrom('users')
    .innerJoin('devices', 'devices.user_id', 'users.id')
    .innerJoin('auth_tokens', 'auth_tokens.device_id', 'devices.id')
    .select('auth_tokens.id')
    .where('users.email', '=', email)
    .where('devices.device_key', '=', deviceKey)
    .where('auth_tokens.revoked_at', 'is', null)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** The key of a device; null: it was deleted. */
export async function findDeviceKey(db: Executor, id: string): Promise<string | null> {
  const row = await db.selectFrom('devices').select('device_key').where('id', '=', id).executeTakeFirst();
  return row?.device_key ?? null;
}

const devicesOf = (db: Executor, userId: string) =>
  db
    .selectFrom('devices')
    .selectAll()
    .select(({ selectFrom }) =>
      selectFrom('sessions')
        .select('sessions.id')
        .whereRef('sessions.device_id', '=', 'devices.id')
        .where('sessions.state', 'in', nonterminalStates)
        .orderBy('sessions.created_at', 'desc')
        .orderBy('sessions.id', 'desc')
        .limit(1)
        .as('active_session_id'),
    )
    .where('user_id', '=', userId);

type DeviceRow = Awaited<ReturnType<ReturnType<typeof devicesOf>['executeTakeFirstOrThrow']>>;

/** The devices of an account, the most recently seen first. */
export function listDevices(db: Executor, userId: string): Promise<DeviceRow[]> {
  return devicesOf(db, userId).orderBy('last_seen_at', 'desc').orderBy('id').execute();
}

/** @returns undefined for an unknown id and for another person's id */
export function findOwnDevice(db: Executor, userId: string, id: string): Promise<DeviceRow | undefined> {
  return devicesOf(db, userId).where('id', '=', id).executeTakeFirst();
}

/** @param currentDeviceId device of the caller's token; null: none */
export function toDevice(row: DeviceRow, currentDeviceId: string | null): Device {
  return {
    id: row.id,
    device_key: row.device_key,
    name: row.name,
    trusted: bool(row.trusted),
    first_seen_at: instant(row.first_seen_at),
    last_seen_at: instant(row.last_seen_at),
    current: row.id === currentDeviceId,
    active_session_id: row.active_session_id,
    capabilities: fromJson(row.capabilities),
  };
}

/**
 * JSON of an account's devices. The stored text of their capabilities is inserted unparsed: parsing and serializing
 * 200 times 8 KiB would cost more than the rest of the answer.
 */
export function devicesJson(rows: readonly DeviceRow[], currentDeviceId: string | null): string {
  const items = rows.map((row) => {
    const { capabilities: _, ...others } = toDevice({ ...row, capabilities: '{}' }, currentDeviceId);
    return `${JSON.stringify(others).slice(0, -1)},"capabilities":${row.capabilities}}`;
  });
  return `{"devices":[${items.join(',')}]}`;
}

/** @param patch a field that is missing or null does not change */
export async function updateOwnDevice(
  tx: Tx,
  userId: string,
  id: string,
  patch: { name?: string | null | undefined; trusted?: boolean | null | undefined },
): Promise<void> {
  const set = {
    ...(typeof patch.name === 'string' && { name: patch.name }),
    ...(typeof patch.trusted === 'boolean' && { trusted: flag(patch.trusted) }),
  };
  if (Object.keys(set).length === 0) return;
  await tx.updateTable('devices').set(set).where('id', '=', id).where('user_id', '=', userId).execute();
}

/** Locks the account's row until the transaction ends. Each launch of the account takes the same lock. */
export async function lockDeviceOwner(tx: Tx, userId: string): Promise<void> {
  await tx.selectFrom('users').select('id').where('id', '=', userId).forNoKeyUpdate().execute();
}

/** Live sessions that were launched from the device. */
export async function listLiveSessions(tx: Tx, deviceId: string): Promise<string[]> {
  const rows = await tx
    .selectFrom('sessions')
    .select('id')
    .where('device_id', '=', deviceId)
    .where('state', 'in', nonterminalStates)
    .execute();
  return rows.map((row) => row.id);
}

export async function revokeDeviceTokens(tx: Tx, deviceId: string, nowMs: number): Promise<void> {
  await tx
    .updateTable('auth_tokens')
    .set({ revoked_at: nowMs })
    .where('device_id', '=', deviceId)
    .where('revoked_at', 'is', null)
    .execute();
}

/** Deletes the device. Its tokens and sessions stay, but refer to no device. */
export async function deleteDevice(tx: Tx, deviceId: string): Promise<void> {
  await tx.deleteFrom('devices').where('id', '=', deviceId).execute();
}

/** The probe of a person's device that was seen last. */
export async function loadLatestProbe(db: Executor, userId: string, nowMs: number): Promise<LatestProbe> {
  return (await loadLatestProbes(db, [userId], nowMs)).get(userId) ?? NO_DEVICE;
}

/** Batched form of `loadLatestProbe`; people without a device are missing. */
export async function loadLatestProbes(
  db: Executor,
  userIds: readonly string[],
  nowMs: number,
): Promise<Map<string, LatestProbe>> {
  if (userIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('users')
    .innerJoin('devices', (join) =>
      join.on('devices.id', '=', (eb) =>
        eb
          .selectFrom('devices as seen')
          .select('seen.id')
          .whereRef('seen.user_id', '=', 'users.id')
          .orderBy('seen.last_seen_at', 'desc')
          .orderBy('seen.id')
          .limit(1),
      ),
    )
    .select(['users.id as user_id', 'devices.id', 'devices.capabilities'])
    .where('users.id', 'in', userIds)
    .execute();
  return new Map(
    rows.map((row) => [
      row.user_id,
      { deviceId: row.id, probe: readProbe(fromJson<JsonObject>(row.capabilities), nowMs) },
    ]),
  );
}

export interface LatestProbe {
  /** null: the person has no device. */
  deviceId: string | null;
  probe: Probe;
}

export const NO_DEVICE: LatestProbe = { deviceId: null, probe: { kind: 'missing' } };
