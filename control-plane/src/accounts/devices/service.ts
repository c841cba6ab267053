import type { Body, Device, Success } from '@footlight/protocol/rest';
import { batchReads, instant, lockForRemoval, toJson } from '../../platform/database/index.ts';
import { ApiError } from '../../platform/errors.ts';
import { CachedBody } from '../../platform/http/message/cached-body.ts';
import type { Caller } from '../../platform/http/message/contract.ts';
import type { Platform } from '../../platform/platform.ts';
import type { AccountsDeps } from '../deps.ts';
import { storedUserAgent } from '../sign-in/user-agent.ts';
import { sanitizeCapabilities } from './capabilities.ts';
import {
  deleteDevice,
  devicesJson,
  findOwnDevice,
  listDevices,
  listLiveSessions,
  lockDeviceOwner,
  revokeDeviceTokens,
  toDevice,
  touchDevice,
  updateOwnDevice,
} from './store.ts';

/** Browsers and programs of a person. Other people can neither see nor change them. */
export interface Devices {
  /** JSON of the answer. Concurrent requests for the same list share one answer. */
  list(caller: Caller): Promise<CachedBody>;
  /** Stores a measurement. The caller's token is not bound to the measured device. */
  probe(
    caller: Caller,
    body: Body<'devices.probe'>,
    userAgent: string | undefined,
  ): Promise<Success<'devices.probe'>['device']>;
  /** @throws ApiError forbidden for an unknown id and for another person's id */
  update(caller: Caller, id: string, patch: Body<'devices.update'>): Promise<Device>;
  /**
   * Revokes the device's tokens, deletes the device, then stops its sessions.
   * @throws ApiError forbidden for an unknown id and for another person's id
   */
  remove(caller: Caller, id: string): Promise<void>;
}

export function createDevices(platform: Platform, deps: Pick<AccountsDeps, 'stopSessions'>): Devices {
  const { clock, database, random } = platform;

  /**
   * Keyed by account and current device. One list can have 4 MB, and building many lists at once would delay all other
   * requests.
   */
  const readList = batchReads(async (keys: readonly string[]) => {
    const lists = new Map<string, CachedBody>();
    for (const key of keys) {
      const [userId = '', deviceId = ''] = key.split(' ');
      const rows = await listDevices(database.db, userId);
      lists.set(key, new CachedBody(devicesJson(rows, deviceId === '' ? null : deviceId)));
    }
    return lists;
  });

  return {
    async list({ userId, deviceId }) {
      return (await readList(`${userId} ${deviceId ?? ''}`)) as CachedBody;
    },

    async probe(caller, body, userAgent) {
      const nowMs = clock.nowMs();
      const seen = {
        id: random.uuid(),
        userId: caller.userId,
        deviceKey: body.device_key,
        userAgent: storedUserAgent(userAgent),
        capabilities: toJson(sanitizeCapabilities(body.capabilities ?? {}, instant(nowMs))),
      };
      const row = await database.transaction((tx) => touchDevice(tx, seen, nowMs));
      return {
        id: row.id,
        first_seen_at: instant(row.first_seen_at),
        last_seen_at: instant(row.last_seen_at),
      };
    },

    async update(caller, id, patch) {
      const row = await database.transaction(async (tx) => {
        await updateOwnDevice(tx, caller.userId, id, patch);
        return findOwnDevice(tx, caller.userId, id);
      });
      if (row === undefined) throw notYours();
      return toDevice(row, caller.deviceId);
    },

    async remove(caller, id) {
      const sessionIds = await database.transaction(async (tx) => {
        // A concurrent launch from this device either commits before this lock and is found here, or finds no device.
        await lockDeviceOwner(tx, caller.userId);
        if ((await findOwnDevice(tx, caller.userId, id)) === undefined) throw notYours();
        await lockForRemoval(tx, 'devices', [id]);
        const live = await listLiveSessions(tx, id);
        // Revoke the tokens before the delete, while they still refer to the device.
        await revokeDeviceTokens(tx, id, clock.nowMs());
        await deleteDevice(tx, id);
        return live;
      });
      await deps.stopSessions(sessionIds, 'device_revoked');
    },
  };
}

const notYours = (): ApiError => new ApiError('forbidden', { message: 'You have no device of this id.' });
