import type { Session, StreamProfile } from '@footlight/protocol/rest';
// biome-ignore lint/style/noRestrictedImports: fixtures of tests, which may use the harness.
import { type FakeAgent, softwareCapacity } from '@footlight/test-harness';
import { afterAll, beforeAll, expect } from 'vitest';
import { type ProfileWorld, profileWorld } from '../../profiles/testing/world.ts';
import type { Person, TestDatabases } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld } from './world.ts';

/**
 * Fields of a rung that a device with 1080 measured lines cannot decode. Used for the H.264 rung that each chain needs.
 */
export const TOO_TALL = { min_decode_height: 2_160 } as const;

/**
 * A host with many slots and an app that limits nothing, for tests of a launch's stream. Call this within a suite. The
 * world is opened before the suite's tests, and only they may use the functions.
 */
export function useStreamWorld(databases: TestDatabases) {
  let world: SessionsWorld;
  let catalog: ProfileWorld;
  let host: FakeAgent;
  let app: string;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    catalog = profileWorld(world);
    const [gpu] = softwareCapacity({}, { encode_slots_total: 64 }).gpus;
    host = await world.host('hosta', {
      capacity: softwareCapacity({ gpus: [0, 1, 2, 3].map((index) => ({ ...gpu!, index })) }),
    });
    const roomy = {
      default_width: 3840,
      default_height: 2160,
      default_fps: 120,
      default_bitrate_kbps: 50_000,
    };
    app = await world.app(roomy);
  });
  afterAll(() => world.close());

  const db = () => world.plane.platform.database.db;
  let made = 0;
  const named = (what: string): string => `${what}-${++made}`;

  /** Adds a person whose device has these measured capabilities; null: the device was not measured. */
  async function somebody(capabilities: object | null): Promise<Person> {
    const person = await world.addPerson(named('person'));
    if (capabilities !== null)
      await world.call(person, 'POST', '/v1/me/devices', { body: { device_key: 'k', capabilities } });
    return person;
  }
  const oneRung = (fields: Partial<StreamProfile> = {}): Promise<string> => oneProfile([fields]);
  /**
   * Creates a launch profile with these rungs, best rung first. @returns the profile's id; the rungs' ids are this id
   * with -0, -1 …
   */
  async function oneProfile(rungs: readonly Partial<StreamProfile>[]): Promise<string> {
    const id = named('profile');
    for (const [at, fields] of rungs.entries()) await catalog.rung(`${id}-${at}`, fields);
    await catalog.profile(
      id,
      rungs.map((_, at) => `${id}-${at}`),
    );
    return id;
  }
  async function launched(person: Person, request: object, of = app): Promise<Session> {
    const answer = await world.launch(person, of, request as Record<string, unknown>);
    expect([answer.status, answer.body.error]).toEqual([201, undefined]);
    return answer.body.session;
  }
  /** Launches an app and returns the answer; also checks that the preview gives the same result. */
  async function answered(person: Person, request: object): Promise<[status: number, code: string]> {
    const body = { app_id: app, user_id: person.id, ...request };
    const preview = await catalog.ask('POST', '/v1/admin/placement/preview', body);
    const { status, body: said } = await world.launch(person, app, request as Record<string, unknown>);
    expect([preview.body.status, preview.body.outcome]).toEqual([status, said.error?.code ?? 'placed']);
    return [status, preview.body.outcome];
  }
  async function withHost<T>(fields: Record<string, string | null>, work: () => Promise<T>): Promise<T> {
    const { id, ...before } = await db()
      .selectFrom('hosts')
      .select(['id', 'codecs', 'codec_throughput', 'encoders', 'effective_settings'])
      .where('id', '=', host.hostId as string)
      .executeTakeFirstOrThrow();
    const write = (values: object) => db().updateTable('hosts').set(values).where('id', '=', id).execute();
    if (Object.keys(fields).length > 0) await write(fields);
    try {
      return await work();
    } finally {
      await write(before);
    }
  }

  return {
    world: () => world,
    catalog: () => catalog,
    host: () => host,
    db,
    named,
    somebody,
    oneRung,
    oneProfile,
    launched,
    answered,
    withHost,
  };
}
