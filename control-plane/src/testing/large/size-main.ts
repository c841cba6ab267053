/**
 * Measures the parts of a control plane whose cost grows with the fleet, on the empty database of DATABASE_URL.
 * Argument: number of hosts. Prints the milliseconds of each part as JSON.
 */
import { buildControlPlane } from '../../app.ts';
import { listPresence } from '../../fleet/hosts/host-store.ts';
import { look, NOBODY_SEEN } from '../../fleet/presence/presence-rules.ts';
import { writeHeartbeatBatch } from '../../fleet/reports/heartbeat-store.ts';
import { loadConfig } from '../../platform/config/config.ts';
import { lockRows } from '../../platform/database/index.ts';
import { createLauncher } from '../../sessions/index.ts';
import { createSettings } from '../../settings/index.ts';
import { createSignalingTokens } from '../../signaling/index.ts';
import { fillLargeCatalog } from './large-catalog.ts';
import { addLargeFleet } from './large-fleet.ts';

const hostCount = Number(process.argv[2]);
/** Each host sends a heartbeat every 5 s; the heartbeats of all hosts are written once a second. */
const HEARTBEATS = Math.ceil(hostCount / 5);
const TIMES = 10;

const plane = await buildControlPlane(loadConfig(process.env));
const { platform } = plane;
const { database, clock } = platform;
const catalog = await fillLargeCatalog(
  database,
  { users: 8, apps: 4, entitlements: 0, signedIn: 8 },
  'none',
  clock.nowMs(),
);
await database.db.updateTable('users').set({ max_concurrent_sessions: 1_000_000 }).execute();
await addLargeFleet({ plane, clock }, { hosts: hostCount, slots: 4 });
const gpus = await database.db.selectFrom('gpus').select(['id', 'host_id']).orderBy('host_id').execute();
const launcher = createLauncher(platform, {
  presence: { isReachable: async () => true },
  settings: createSettings(platform),
  tokens: createSignalingTokens(platform),
});
const [admin] = catalog.users;

const parts: Record<string, (n: number) => Promise<unknown>> = {
  async 'heartbeats of a second'(n) {
    const from = (n * HEARTBEATS) % gpus.length;
    const beating = gpus.slice(from, from + HEARTBEATS);
    const nowMs = clock.nowMs();
    await database.transaction(async (tx) => {
      await lockRows(tx, { hosts: beating.map(({ host_id }) => host_id), gpus: beating.map(({ id }) => id) });
      await writeHeartbeatBatch(
        tx,
        beating.map(({ host_id }) => ({ hostId: host_id, heartbeatAt: nowMs, report: null })),
        beating.map(({ id }) => ({ gpuId: id, used: 1_000, free: 20_000, sampledAt: nowMs })),
      );
    });
  },
  async 'look for lost hosts'() {
    const rows = await listPresence(database.db);
    const stored = rows.map(({ id, status, last_heartbeat_at }) => ({
      id,
      isOffline: status === 'offline',
      heartbeatAt: last_heartbeat_at,
    }));
    look(NOBODY_SEEN, stored, clock.monotonicMs());
  },
  launch: (n) =>
    launcher.launch(
      { userId: catalog.users[n % catalog.users.length]?.id ?? '', role: 'user', deviceId: null },
      { app_id: catalog.apps[0]?.id ?? '', mic: false },
    ),
  async 'page of hosts'() {
    const { statusCode } = await plane.inject({
      url: '/v1/hosts?limit=100',
      headers: { authorization: `Bearer ${admin?.token}` },
    });
    if (statusCode !== 200) throw new Error(`the list of hosts: ${statusCode}`);
  },
};

const medians: Record<string, number> = {};
for (const [name, part] of Object.entries(parts)) {
  const times: number[] = [];
  for (let n = 0; n < TIMES; n += 1) {
    const startedMs = performance.now();
    await part(n);
    times.push(performance.now() - startedMs);
  }
  medians[name] = Math.round(times.sort((a, b) => a - b)[TIMES / 2] ?? Number.NaN);
}
process.stdout.write(`${JSON.stringify(medians)}\n`);
await plane.close();
