import { type Tx, toJson } from '../../platform/database/index.ts';
import type { TestApp } from '../app.ts';

const ROWS_AT_ONCE = 500;

/** Inserts online, idle hosts with one GPU each and without agents. @returns ids of the GPUs */
export async function addLargeFleet(
  app: { plane: Pick<TestApp['plane'], 'platform'>; clock: Pick<TestApp['clock'], 'nowMs'> },
  size: { hosts: number; slots: number },
): Promise<string[]> {
  const { database, random } = app.plane.platform;
  const nowMs = app.clock.nowMs();
  const settings = toJson({ encoder: 'nvenc', home_root: '/var/lib/service-agent/homes' });
  return database.transaction(async (tx: Tx) => {
    const hosts = Array.from({ length: size.hosts }, (_, n) => ({
      id: random.uuid(),
      node_name: `large-${n}`,
      status: 'online' as const,
      capacity_detection: 'ok' as const,
      features: toJson(['process_runtime']),
      codecs: toJson(['h264']),
      effective_settings: settings,
      drain_intent: 0 as const,
      settings_overrides: '{}',
      pending_restart: 0 as const,
      created_at: nowMs,
    }));
    const gpus = hosts.map(({ id }) => ({
      id: random.uuid(),
      host_id: id,
      gpu_index: 0,
      vendor: 'nvidia',
      model: 'Fake',
      vram_mb_total: 24_576,
      slots_total: size.slots,
      slots_used: 0,
      slots_guard: size.slots,
      reported: 1 as const,
      created_at: nowMs,
    }));
    for (let n = 0; n < size.hosts; n += ROWS_AT_ONCE) {
      const some = hosts.slice(n, n + ROWS_AT_ONCE);
      await tx
        .insertInto('hosts')
        .values(some.map((host) => ({ ...host, secret_hash: `none-${host.id}` })))
        .execute();
      await tx
        .insertInto('gpus')
        .values(gpus.slice(n, n + ROWS_AT_ONCE))
        .execute();
    }
    return gpus.map(({ id }) => id);
  });
}
