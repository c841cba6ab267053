import type { Body, ChainWarning, ListedStreamProfile, StreamProfile } from '@footlight/protocol/rest';
import { recordCatalogChange } from '../../catalog/index.ts';
import { onUniqueViolation, type Tx } from '../../platform/database/index.ts';
import { ApiError, noSuch } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/message/contract.ts';
import { listNames } from '../../platform/list-names.ts';
import type { Platform } from '../../platform/platform.ts';
import { byId, changeRung, type ProfileWithRungs, toRungColumns } from '../record.ts';
import * as store from '../store.ts';
import { hasFloor, warnAbout } from './chain.ts';

type CreateBody = Body<'streamProfiles.create'>;
type UpdateBody = Body<'streamProfiles.update'>;

/** Administrators' operations on rungs. */
export interface RungAdmin {
  /** All rungs sorted by id, each with its references. */
  list(): Promise<ListedStreamProfile[]>;
  /** @throws 409 when the id is taken */
  create(actor: Caller, body: CreateBody): Promise<StreamProfile>;
  /** @throws 404; 409 when a chain would be left without an H.264 rung */
  update(
    actor: Caller,
    id: string,
    patch: UpdateBody,
  ): Promise<StreamProfile & { warnings?: ChainWarning[] }>;
  /** @throws 404; 409 while a chain contains the rung or a session used it */
  remove(actor: Caller, id: string): Promise<void>;
}

export function createRungAdmin(platform: Platform): RungAdmin {
  const { database, clock, activity } = platform;

  return {
    async list() {
      const rungs = await store.listRungs(database.db);
      const chains = await store.listLaunchProfiles(database.db);
      const sessions = await store.countSessionsByRung(database.db);
      return rungs.map((rung) => {
        const usedBy = listing(chains, rung.id)
          .map(({ profile: { id, display_name } }) => ({ id, display_name }))
          .sort(byId);
        const sessionCount = sessions.get(rung.id) ?? 0;
        return {
          ...rung,
          ...(usedBy.length > 0 && { used_by: usedBy }),
          ...(sessionCount > 0 && { session_count: sessionCount }),
        };
      });
    },

    async create(actor, body) {
      const now = clock.nowMs();
      await onUniqueViolation(
        () => idTaken(body.id),
        database.transaction(async (tx) => {
          await store.lockProfiles(database, tx);
          await store.insertRung(tx, { ...toRungColumns(body), created_at: now, updated_at: now });
          await recordCatalogChange(tx, 'everything');
        }),
      );
      await activity.record(actor.userId, 'stream_profile.create', body.id, { name: body.display_name });
      return body;
    },

    async update(actor, id, { id: _ignored, ...patch }) {
      const keys = Object.keys(patch).sort();
      const { rung, warnings } = await database.transaction(async (tx) => {
        await store.lockProfiles(database, tx);
        const stored = await store.findRung(tx, id);
        if (!stored) throw noSuch('stream profile', id);
        const rung = changeRung(stored, patch);
        const warnings = rung.codec === stored.codec ? [] : await judgeNewCodec(tx, rung);
        if (keys.length > 0) {
          await store.updateRung(tx, id, { ...toRungColumns(rung), updated_at: clock.nowMs() });
          await recordCatalogChange(tx, 'everything');
        }
        return { rung, warnings };
      });
      if (keys.length > 0) await activity.record(actor.userId, 'stream_profile.update', id, { keys });
      return { ...rung, ...(warnings.length > 0 && { warnings }) };
    },

    async remove(actor, id) {
      const name = await database.transaction(async (tx) => {
        await store.lockProfiles(database, tx);
        // Lock before the next query, because a launch with the shared lock may be adding a session that uses the rung.
        await store.lockRung(tx, id);
        const rung = await store.findRung(tx, id);
        if (!rung) throw noSuch('stream profile', id);
        const chains = listing(await store.listLaunchProfiles(tx), id);
        if (chains.length > 0) {
          throw new ApiError('conflict', {
            message: `Launch profiles list this rung: ${names(chains)}. Take it out of them first.`,
          });
        }
        if (await store.hasSessionOfRung(tx, id)) {
          throw new ApiError('conflict', {
            message: 'Sessions recorded this rung, and their history would lose it.',
          });
        }
        await store.deleteRung(tx, id);
        await recordCatalogChange(tx, 'everything');
        return rung.display_name;
      });
      await activity.record(actor.userId, 'stream_profile.delete', id, { name });
    },
  };
}

/**
 * Checks a rung's new codec against the chains that contain the rung.
 * @returns warnings about these chains
 * @throws 409 with the chains that would lose their only H.264 rung
 */
async function judgeNewCodec(tx: Tx, changed: StreamProfile): Promise<ChainWarning[]> {
  const chains = listing(await store.listLaunchProfiles(tx), changed.id).map(({ profile, rungs }) => ({
    profile,
    rungs: rungs.map((rung) => (rung.id === changed.id ? changed : rung)),
  }));
  const broken = chains.filter(({ rungs }) => !hasFloor(rungs));
  if (broken.length > 0) {
    throw new ApiError('conflict', {
      message: `With codec ${changed.codec} these launch profiles would have no h264 rung left: ${names(broken)}.`,
    });
  }
  return chains.flatMap(({ profile, rungs }) =>
    warnAbout(rungs).map(({ code, message }) => ({
      code,
      message: `Launch profile ${profile.display_name} (${profile.id}): ${message}`,
    })),
  );
}

const listing = (chains: readonly ProfileWithRungs[], rungId: string): ProfileWithRungs[] =>
  chains.filter(({ rungs }) => rungs.some(({ id }) => id === rungId));

const names = (chains: readonly ProfileWithRungs[]): string =>
  listNames(chains.map(({ profile }) => `${profile.display_name} (${profile.id})`));

const idTaken = (id: string): ApiError =>
  new ApiError('conflict', { message: `id: there is a stream profile ${JSON.stringify(id)} already.` });
