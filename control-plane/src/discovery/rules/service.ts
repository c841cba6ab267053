import type { Body, LibraryRule, UnpublishedTitle } from '@footlight/protocol/rest';
import {
  type AppRow,
  disableTiles,
  findApp,
  lockApp,
  lockDiscoveryTiles,
  recordCatalogChange,
  revokeProviderGrantsOf,
} from '../../catalog/index.ts';
import { instant } from '../../platform/database/index.ts';
import { ApiError, invalid } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/message/contract.ts';
import type { Platform } from '../../platform/platform.ts';
import { decideSuppression } from '../reconcile/ladder.ts';
import {
  deleteRule,
  listRules,
  listUnpublished,
  putRule,
  type RuleRow,
  type UnpublishedRow,
} from './store.ts';

/** Longest stored note (characters); a longer note is cut. */
const MAX_NOTE_CHARACTERS = 512;

/**
 * Decisions of administrators about the titles of a provider app. Every method throws 404 for an unknown app, 400 for
 * an app that is no provider.
 */
export interface DiscoveryRules {
  list(appId: string): Promise<LibraryRule[]>;
  unpublished(appId: string): Promise<UnpublishedTitle[]>;
  /** Stores a rule. `ignore` also disables the tile and revokes the entitlements to it that discovery granted. */
  set(
    actor: Caller,
    appId: string,
    externalId: string,
    body: Body<'libraryRules.set'>,
  ): Promise<{ rule: LibraryRule; disabled: boolean; revoked: number }>;
  /** @throws ApiError 404 for an unknown rule */
  remove(actor: Caller, appId: string, externalId: string, source: string): Promise<void>;
}

export function createDiscoveryRules(platform: Platform): DiscoveryRules {
  const { activity, clock, database } = platform;
  const { db } = database;

  async function requireProvider(appId: string): Promise<AppRow> {
    return providerOf(await findApp(db, appId));
  }

  return {
    async list(appId) {
      await requireProvider(appId);
      return (await listRules(db, appId)).map(toRule);
    },

    async unpublished(appId) {
      await requireProvider(appId);
      return (await listUnpublished(db, appId)).map(toUnpublished);
    },

    async set(actor, appId, externalId, body) {
      const { rule: decision, note = '', external_source = 'steam' } = body;
      const rule: RuleRow = {
        parent_app_id: appId,
        external_source,
        external_id: externalId,
        rule: decision,
        note: [...note].slice(0, MAX_NOTE_CHARACTERS).join(''),
        created_by: actor.userId,
        created_at: clock.nowMs(),
      };
      const effect = await database.transaction(async (tx) => {
        providerOf(await lockApp(tx, appId));
        await putRule(tx, rule);
        if (decision === 'allow') return { disabled: false, revoked: 0 };
        const tiles = await lockDiscoveryTiles(tx, appId, external_source);
        const tile = tiles.find(({ external_id }) => external_id === externalId);
        if (tile === undefined) return { disabled: false, revoked: 0 };
        const disabled = tile.enabled === 1;
        if (disabled) await disableTiles(tx, [tile.id], rule.created_at);
        const revoked = await revokeProviderGrantsOf(tx, [tile.id]);
        if (revoked > 0) await recordCatalogChange(tx, 'everything');
        else if (disabled) await recordCatalogChange(tx, { appId: tile.id });
        return { disabled, revoked };
      });
      await activity.record(actor.userId, 'app.library.rule.set', appId, {
        external_id: externalId,
        rule: decision,
        ...effect,
      });
      return { rule: toRule(rule), ...effect };
    },

    async remove(actor, appId, externalId, source) {
      await requireProvider(appId);
      const key = { parent_app_id: appId, external_source: source, external_id: externalId };
      if (!(await deleteRule(db, key)))
        throw new ApiError('not_found', { message: 'There is no such rule.' });
      await activity.record(actor.userId, 'app.library.rule.delete', appId, { external_id: externalId });
    },
  };
}

/** @throws ApiError 404, 400 */
export function providerOf(app: AppRow | null): AppRow {
  if (app === null) throw new ApiError('not_found', { message: 'There is no such app.' });
  if (app.library_provider === '') throw invalid('The app is no library provider.');
  return app;
}

function toRule({ parent_app_id: _app, created_at, ...row }: RuleRow): LibraryRule {
  return { ...row, created_at: instant(created_at) };
}

function toUnpublished(row: UnpublishedRow): UnpublishedTitle {
  const { external_source, external_id, name, users, has_tile } = row;
  const decided = decideSuppression({
    externalId: external_id,
    name,
    rule: row.rule,
    storeType: row.kept_by_store > 0 ? 'no game' : null,
  });
  return {
    external_source,
    external_id,
    name,
    // Other reasons are, for example, a tile that an administrator disabled, or a title that is still downloading.
    suppressed_by: decided ?? 'other',
    users,
    last_seen_at: instant(row.last_seen_at),
    has_tile,
  };
}
