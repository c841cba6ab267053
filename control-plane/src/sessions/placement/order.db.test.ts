import { gpuCapacity } from '@footlight/test-harness';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';
import { type Demand, decidePlacement } from './placement.ts';
import { loadGpus } from './placement-store.ts';

const GPUS = 6;
const settings = { vramMinFreeMb: 0, vramInflightEstimateMb: 1_024, vramStalenessSecs: 20 };

describeDatabases('the order of placement', (databases) => {
  let world: SessionsWorld;
  let hostIds: string[];
  let gpuIds: string[];
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    for (const name of ['hosta', 'hostb']) await world.host(name, { capacity: gpuCapacity(GPUS) });
    const { db } = world.plane.platform.database;
    gpuIds = (await db.selectFrom('gpus').select('id').execute()).map(({ id }) => id);
    hostIds = (await db.selectFrom('hosts').select('id').execute()).map(({ id }) => id);
  });
  afterAll(() => world.close());

  test('the query sorts the GPUs of random fleets as the decision does', async () => {
    const { db } = world.plane.platform.database;
    const nowMs = world.clock.nowMs();
    // Small ranges, so that most terms are equal for several GPUs and the next term decides.
    const gpu = fc.record({
      slots_total: fc.integer({ min: 3, max: 5 }),
      slots_used: fc.integer({ min: 0, max: 3 }),
      sessions_active: fc.integer({ min: 0, max: 2 }),
      vram_mb_free: fc.option(fc.integer({ min: 0, max: 2 })),
      vram_sampled_at: fc.option(fc.integer({ min: 19_999, max: 20_001 }).map((age) => nowMs - age)),
    });
    const fleet = fc.array(gpu, { minLength: 2 * GPUS, maxLength: 2 * GPUS });
    await fc.assert(
      fc.asyncProperty(fleet, fc.integer({ min: -1, max: 1 }), fc.nat(), async (gpus, preferred, turn) => {
        for (const [n, facts] of gpus.entries())
          await db
            .updateTable('gpus')
            .set({ ...facts, slots_guard: facts.slots_total })
            .where('id', '=', gpuIds[n] as string)
            .execute();
        const demand: Demand = {
          encode_slots: 0,
          runtime: 'process',
          needs_home_root: false,
          needs_home_base: false,
          pin: null,
          prefer_host_id: hostIds[preferred] ?? null,
          image: null,
          encoder: null,
          skip_vram_veto: false,
          unreachable: new Set(),
        };
        const sorted = await loadGpus(db, demand, settings, nowMs, 100);
        const at = turn % sorted.length;
        const turned = [...sorted.slice(at), ...sorted.slice(0, at)].reverse();
        const { candidates } = decidePlacement(turned, demand, settings, nowMs);
        expect(candidates).toHaveLength(2 * GPUS);
        expect(candidates.map(({ gpu_id }) => gpu_id)).toEqual(sorted.map(({ gpu_id }) => gpu_id));
      }),
      { numRuns: 30 },
    );
  });
});
