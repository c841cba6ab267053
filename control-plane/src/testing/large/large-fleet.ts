import { type Tx, toJson } from '../../platform/database/index.ts';
import type { TestApp } from '../app.ts';

/** Inserts online, idle hosts with one GPU each and without agents. @returns ids of the GPUs */
export async function addLargeFleet(
  app: { plane: Pick<TestApp['plane'], 'platform'>; clock: Pick<TestApp['clock'], 'nowMs'> },
  size: { hosts: number; slots: number },
): Promise<string[]> {
  const { database, random } = app.plane.platform;
  const nowMs = app.clock.nowMs();
  const settings = toJson({ encoder: 'nvenc', home_root: '/var/lib/service-agent/homes' });
  return database.transaction(async (tx: Tx) => {
    const gpuIds: string[] = [];
    for (let n = 0; n < size.hosts; n++) {
      const [hostId, gpuId] = [random.uuid(), random.uuid()];
      gpuIds.push(gpuId);
      await tx
        .insertInto('hosts')
        .values({
          id: hostId,
          node_name: `large-${n}`,
          status: 'online',
          capacity_detection: 'ok',
          features: toJson(['process_runtime']),
          codecs: toJson(['h264']),
          effective_settings: settings,
          secret_hash: `none-${hostId}`,
          drain_intent: 0,
          settings_overrides: '{}',
          pending_restart: 0,
          created_at: nowMs,
        })
        .execute();
      await tx
        .insertInto('gpus')
        .values({
          id: gpuId,
          host_id: hostId,
          gpu_index: 0,
          vendor: 'nvidia',
          model: 'Fake',
          vram_mb_total: 24_576,
          slots_total: size.slots,
          slots_used: 0,
          slots_guard: size.slots,
          reported: 1,
          created_at: nowMs,
        })
        .execute();
    }
    return gpuIds;
  });
}
