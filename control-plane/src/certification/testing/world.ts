import { SECOND_MS, systemClock, within } from '@footlight/platform';
// biome-ignore lint/style/noRestrictedImports: fixtures of tests, which may use the harness.
import { type FakeAgent, softwareCapacity } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { BENCH_USER_ID } from '../../platform/database/migrations/0001-first/certification.ts';
import { openSessionsWorld, type SessionsWorld } from '../../sessions/testing/world.ts';
import { REPLICAS, type TestDatabases } from '../../testing/index.ts';
import { CERTIFICATION_SWEEP } from '../service.ts';

/** A cell that the host can measure. */
export const CELL = {
  gpu_index: 0,
  encoder: 'openh264',
  bitrate_kbps: 6_000,
  stream_profile_id: '720p60-h264',
};

/**
 * A host with eight slots and the app of the measurements. Call this within a suite. The world is opened before the
 * suite's tests, and only they may use the functions. After each test its cells are ended and all results deleted.
 */
export function useCertificationWorld(databases: TestDatabases) {
  let world: SessionsWorld;
  let host: FakeAgent;
  let base: string;
  let app: string;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    host = await world.host('bench-host', { capacity: softwareCapacity({}, { encode_slots_total: 8 }) });
    base = `/v1/admin/hosts/${host.hostId}/encoder-certification`;
    // The app has no entitlements, because a cell needs none.
    app = await world.app({ name: 'Diagnostics', entitle: 'none', default_encode_slots: 2 });
  });
  afterAll(() => world.close());
  afterEach(async () => {
    for (const { id } of await liveCells()) {
      await ask('DELETE', `/v1/sessions/${id}`);
      await world.until(id, 'stopped');
    }
    const { db } = world.plane.platform.database;
    await db.deleteFrom('certification_cells').execute();
    await db.deleteFrom('certification_runs').execute();
    await db.deleteFrom('encoder_certifications').execute();
  });

  const liveCells = async () =>
    (await world.list('?state=active')).filter(({ user_id }) => user_id === BENCH_USER_ID);
  const ask = (method: string, url: string, body?: object) =>
    world.call(world.people.admin, method, url, body === undefined ? {} : { body });
  /**
   * Lets time pass until the cell runs. A control plane can publish that the session runs before the subscription of
   * another one has reached NATS, and then only the next poll finds out.
   */
  async function passPolls(answer: Promise<unknown>): Promise<void> {
    let isPending = true;
    const settled = answer.finally(() => {
      isPending = false;
    });
    await within(systemClock, 5 * SECOND_MS, settled, null);
    while (isPending) {
      await world.clock.pass(SECOND_MS);
      await within(systemClock, SECOND_MS, settled, null);
    }
  }

  return {
    /** `base`: the path of the host's certification. */
    opened: () => ({ world, host, base, app }),
    /** Running sessions of cells. */
    liveCells,
    /** A request of the administrator. */
    ask,
    startCell: (more: object = {}, at = base) => {
      const answer = ask('POST', `${at}/cells`, { ...CELL, ...more });
      if (REPLICAS > 1) void passPolls(answer);
      return answer;
    },
    finalize: (sessionId: string, at = base) => ask('POST', `${at}/cells/${sessionId}/finalize`),
    sweep: () => world.plane.platform.leader.runNow(CERTIFICATION_SWEEP),
    /** Lets the host measure for this time. */
    async dwell(seconds = 25, agent = host): Promise<void> {
      for (let s = 0; s < seconds; s += 1) await world.clock.pass(SECOND_MS);
      await agent.heard();
    },
  };
}

/** Status and code of an answer. */
export async function refusal(
  answer: Promise<{ status: number; body: { error?: { code: string } } }>,
): Promise<[number, string | undefined]> {
  const { status, body } = await answer;
  return [status, body.error?.code];
}
