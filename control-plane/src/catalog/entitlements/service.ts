import type { Body, Entitlement, EntitlementMode } from '@footlight/protocol/rest';
import { onUniqueViolation } from '../../platform/database/index.ts';
import { ApiError, noSuch } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/message/contract.ts';
import type { Platform } from '../../platform/platform.ts';
import { recordCatalogChange } from '../changes.ts';
import { findApp, lockApp } from '../store.ts';
import { toEntitlement } from './record.ts';
import * as store from './store.ts';

/** Entitlements of an app: one row for everybody, or a row per account. */
export interface Entitlements {
  /** @throws 404 unknown app */
  list(appId: string): Promise<Entitlement[]>;
  /** The account's own rows sorted by app name, without the rows for everybody. Empty for an unknown account. */
  listOfUser(userId: string): Promise<Entitlement[]>;
  /** @throws 404 unknown app or account, 409 when the entitlement already exists */
  grant(actor: Caller, appId: string, body: Body<'entitlements.grant'>): Promise<Entitlement>;
  /** @throws 404 for an unknown row, or a row of another app */
  revoke(actor: Caller, appId: string, entitlementId: string): Promise<void>;
  /**
   * Replaces all rows of the provider's oldest app with one row for everybody, one row for the actor, or no row.
   * @param provider lower-case
   * @throws 404 when no app has the provider
   */
  setMode(actor: Caller, provider: string, mode: EntitlementMode['mode']): Promise<EntitlementMode>;
}

export function createEntitlements(platform: Platform): Entitlements {
  const { database, clock, random, activity } = platform;
  return {
    async list(appId) {
      if (!(await findApp(database.db, appId))) throw noSuch('app', appId);
      return (await store.listEntitlements(database.db, appId)).map(toEntitlement);
    },

    async listOfUser(userId) {
      return (await store.listEntitlementsOfUser(database.db, userId)).map(toEntitlement);
    },

    async grant(actor, appId, body) {
      const subjectId = body.subject_type === 'user' && body.subject_id ? body.subject_id : null;
      const id = random.uuid();
      const row = await onUniqueViolation(
        alreadyHeld,
        database.transaction(async (tx) => {
          if (!(await lockApp(tx, appId))) throw noSuch('app', appId);
          if (subjectId !== null && !(await store.lockUserShared(tx, subjectId))) {
            throw new ApiError('not_found', { message: 'There is no such account.' });
          }
          if (await store.entitlementExists(tx, appId, subjectId)) throw alreadyHeld();
          await store.insertAdminEntitlement(tx, {
            id,
            appId,
            subjectId,
            grantedBy: actor.userId,
            nowMs: clock.nowMs(),
          });
          await recordCatalogChange(tx, subjectId === null ? { appId } : { userId: subjectId });
          return store.loadEntitlement(tx, id);
        }),
      );
      await activity.record(actor.userId, 'app.entitlement.grant', appId, {
        entitlement_id: id,
        subject_type: body.subject_type,
        subject_id: subjectId,
      });
      return toEntitlement(row);
    },

    async revoke(actor, appId, entitlementId) {
      const row = await database.transaction(async (tx) => {
        const found = await store.findEntitlement(tx, entitlementId);
        if (found?.app_id !== appId) throw noSuch('entitlement', entitlementId);
        if (!(await store.deleteEntitlement(tx, entitlementId))) throw noSuch('entitlement', entitlementId);
        await recordCatalogChange(tx, found.subject_id === null ? { appId } : { userId: found.subject_id });
        return found;
      });
      await activity.record(actor.userId, 'app.entitlement.revoke', appId, {
        entitlement_id: entitlementId,
        subject_type: row.subject_type,
        subject_id: row.subject_id,
        granted_by: row.granted_by,
      });
    },

    async setMode(actor, provider, mode) {
      const { appId, rows } = await database.transaction(async (tx) => {
        const app = await store.lockProviderApp(tx, provider);
        if (app === null) {
          throw new ApiError('not_found', { message: `No app has the library provider ${provider}.` });
        }
        await store.deleteEntitlementsOf(tx, app.id);
        if (mode !== 'none') {
          await store.insertAdminEntitlement(tx, {
            id: random.uuid(),
            appId: app.id,
            subjectId: mode === 'user' ? actor.userId : null,
            grantedBy: actor.userId,
            nowMs: clock.nowMs(),
          });
        }
        await recordCatalogChange(tx, 'everything');
        return { appId: app.id, rows: await store.listEntitlements(tx, app.id) };
      });
      await activity.record(actor.userId, 'app.entitlement.set_mode', appId, {
        provider,
        mode,
        item_count: rows.length,
      });
      return { provider, app_id: appId, mode, items: rows.map(toEntitlement) };
    },
  };
}

const alreadyHeld = () => new ApiError('conflict', { message: 'This entitlement is already held.' });
