import type { LaunchProfile, StreamProfile } from '@footlight/protocol/rest';
import { expect } from 'vitest';
import { type Answer, loggedActivity, type TestApp } from '../../testing/index.ts';

/** Common helpers of profile suites. */
export interface ProfileWorld {
  /** Calls the API as the administrator. */
  ask(method: string, url: string, body?: unknown): Promise<Answer>;
  /** Creates a rung, h264 by default. */
  rung(id: string, fields?: Partial<StreamProfile>): Promise<StreamProfile>;
  profile(id: string, rungs: readonly string[], fields?: object): Promise<LaunchProfile>;
  app(fields: object): Promise<{ id: string; display_stream: object }>;
  /** The newest entry of the activity log with this action. */
  audited(action: string): Promise<object | undefined>;
  /** The catalog version under which lists are cached. */
  version(): Promise<number>;
}

export const RUNG_BODY = {
  display_name: 'A rung',
  codec: 'h264',
  width: 1280,
  height: 720,
  fps: 60,
  nominal_bitrate_kbps: 4000,
} as const;

export function profileWorld(app: TestApp): ProfileWorld {
  const { db } = app.plane.platform.database;
  const ask = (method: string, url: string, body?: unknown) =>
    app.call(app.people.admin, method, url, body === undefined ? {} : { body });
  async function created(url: string, body: object) {
    const answer = await ask('POST', url, body);
    expect([answer.status, answer.body?.error]).toEqual([201, undefined]);
    return answer.body;
  }
  return {
    ask,
    rung: (id, fields = {}) => created('/v1/admin/stream-profiles', { ...RUNG_BODY, id, ...fields }),
    profile: (id, rungs, fields = {}) =>
      created('/v1/admin/launch-profiles', { id, display_name: `Profile ${id}`, rungs, ...fields }),
    app: async (fields) => (await created('/v1/apps', { name: 'An app', ...fields })).app,
    async audited(action) {
      const entry = (await loggedActivity(app, { action })).at(-1);
      if (entry === undefined) return undefined;
      const { id: _, action: __, created_at: ___, ...facts } = entry;
      return facts;
    },
    async version() {
      const row = await db.selectFrom('catalog_version').select('version').executeTakeFirstOrThrow();
      return row.version;
    },
  };
}
