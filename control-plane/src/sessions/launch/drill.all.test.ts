import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiError } from '../../platform/errors.ts';
import { createSettings } from '../../settings/index.ts';
import { createSignalingTokens } from '../../signaling/index.ts';
import { addLargeFleet, createTestApp, describeDatabases, type TestApp } from '../../testing/index.ts';
import { endSession } from '../life/life-store.ts';
import { loadSession } from '../store.ts';
import { createLauncher } from './launch.ts';

const LAUNCHERS = 50;
const FLEET = { hosts: 200, slots: 20 };
/** Slots per launch: with 1 the fleet has room for 4,000 launches. */
const DEMAND = process.env.FOOTLIGHT_LONG === '1' ? 1 : 10;
const ROOM = (FLEET.hosts * FLEET.slots) / DEMAND;

describeDatabases('50 launchers on 200 hosts with 4,000 slots', (databases) => {
  let app: TestApp;
  let people: { userId: string; role: 'user'; deviceId: null }[];
  let appId: string;
  /** The outcome of a launch: the session's id, or the code of its refusal. */
  let launch: (launcher: number) => Promise<{ id: string } | { code: string }>;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
    await addLargeFleet(app, FLEET);
    const { platform } = app.plane;
    people = [];
    for (let n = 0; n < LAUNCHERS; n++) {
      const person = await app.addPerson(`launcher${n}`);
      people.push({ userId: person.id, role: 'user', deviceId: null });
    }
    await platform.database.db.updateTable('users').set({ max_concurrent_sessions: 10_000 }).execute();
    const body = { name: 'Drill', runtime_spec: { args: ['x'] }, default_encode_slots: DEMAND };
    appId = (await app.call(app.people.admin, 'POST', '/v1/apps', { body })).body.app.id;
    // The launcher is used without a driver, because these hosts have no agents and a start would fail.
    const launcher = createLauncher(platform, {
      presence: { isReachable: async () => true },
      settings: createSettings(platform),
      tokens: createSignalingTokens(platform),
    });
    launch = async (n) => {
      try {
        const { row } = await launcher.launch(people[n % LAUNCHERS]!, { app_id: appId, mic: false });
        return { id: row.id };
      } catch (error) {
        if (error instanceof ApiError) return { code: error.code };
        throw error;
      }
    };
  });
  afterAll(() => app.close());

  /** All people launch concurrently, each person one launch after another, up to this total number of launches. */
  async function launchAll(count: number): Promise<{ ids: string[]; codes: string[] }> {
    let left = count;
    const ids: string[] = [];
    const codes: string[] = [];
    await Promise.all(
      people.map(async (_person, n) => {
        while (left > 0) {
          left -= 1;
          const outcome = await launch(n);
          if ('id' in outcome) ids.push(outcome.id);
          else codes.push(outcome.code);
        }
      }),
    );
    return { ids, codes };
  }

  async function expectBooked(sessions: number): Promise<void> {
    const { db } = app.plane.platform.database;
    const gpus = await db
      .selectFrom('gpus')
      .leftJoin('sessions', (join) =>
        join.onRef('sessions.gpu_id', '=', 'gpus.id').on('sessions.state', '=', 'assigned'),
      )
      .select(['gpus.slots_total', 'gpus.slots_used', 'gpus.sessions_active'])
      .select((eb) => [
        eb.fn.coalesce(eb.fn.sum<number>('sessions.encode_slots'), eb.lit(0)).as('held'),
        eb.fn.count<number>('sessions.id').as('active'),
      ])
      .groupBy(['gpus.id', 'gpus.slots_total', 'gpus.slots_used', 'gpus.sessions_active'])
      .execute();
    for (const gpu of gpus) {
      expect([gpu.slots_used, gpu.sessions_active]).toEqual([gpu.held, gpu.active]);
      expect(gpu.slots_used).toBeLessThanOrEqual(gpu.slots_total);
    }
    expect(gpus.reduce((sum, gpu) => sum + gpu.active, 0)).toBe(sessions);
  }

  test('no launch is refused that fits, no slot is booked twice, and a full fleet refuses', async () => {
    const { ids, codes } = await launchAll(ROOM);
    expect(codes).toEqual([]);
    await expectBooked(ROOM);

    expect((await launchAll(LAUNCHERS)).codes).toEqual(Array(LAUNCHERS).fill('capacity_exhausted'));
    await expectBooked(ROOM);

    const { database } = app.plane.platform;
    for (const id of ids.slice(0, LAUNCHERS / 2)) {
      const row = await loadSession(database.db, id);
      const ending = {
        to: 'stopped' as const,
        state_detail: null,
        error_message: null,
        failure_code: null,
        end_reason: 'user_requested' as const,
        app_log_tail: null,
        home_bytes: null,
      };
      await database.transaction((tx) => endSession(tx, row!, ending, 1));
    }
    const again = await launchAll(LAUNCHERS);
    expect([again.ids.length, again.codes.length]).toEqual([LAUNCHERS / 2, LAUNCHERS / 2]);
    await expectBooked(ROOM);
  }, 120_000);
});
