/**
 * Fills the empty database of DATABASE_URL with enrolled hosts and their running sessions, and prints the hosts as
 * JSON.
 * A host's secret is its name three times. Arguments: hosts, sessions per host.
 */
import { createLogger, systemClock, systemRandom } from '@footlight/platform';
import { loadConfig } from '../../platform/config/config.ts';
import { openDatabase } from '../../platform/database/index.ts';
import { sha256Hex } from '../../platform/digest.ts';
import { fillLargeCatalog } from './large-catalog.ts';

const ROWS = 100;
/** Number of owners of the sessions: several, because one person gets at most 300 signaling tickets a minute. */
const OWNERS = 8;

const [hostCount, sessionsEach] = process.argv.slice(2).map(Number) as [number, number];
const { database: target } = loadConfig(process.env);
const database = await openDatabase(target, { logger: createLogger('warn') });
const nowMs = systemClock.nowMs();
try {
  const catalog = await fillLargeCatalog(
    database,
    { users: OWNERS, apps: 1, entitlements: 1, signedIn: OWNERS },
    'none',
    nowMs,
  );
  const [app] = catalog.apps;
  const [admin] = catalog.users;
  if (app === undefined || admin === undefined) throw new Error('the catalog is empty');
  const hosts = Array.from({ length: hostCount }, (_, n) => ({
    id: systemRandom.uuid(),
    gpuId: systemRandom.uuid(),
    nodeName: `node-${n}`,
    owner: catalog.users[n % OWNERS] ?? admin,
    sessions: Array.from({ length: sessionsEach }, () => systemRandom.uuid()),
  }));
  await database.transaction(async (tx) => {
    for (let at = 0; at < hosts.length; at += ROWS) {
      const some = hosts.slice(at, at + ROWS);
      await tx
        .insertInto('hosts')
        .values(
          some.map(({ id, nodeName }) => ({
            id,
            node_name: nodeName,
            status: 'offline' as const,
            drain_intent: 0 as const,
            features: '[]',
            capacity_detection: 'unavailable' as const,
            settings_overrides: '{}',
            pending_restart: 0 as const,
            secret_hash: sha256Hex(nodeName.repeat(3)),
            first_capacity_at: nowMs,
            created_at: nowMs,
          })),
        )
        .execute();
      await tx
        .insertInto('gpus')
        .values(
          some.map(({ id, gpuId }) => ({
            id: gpuId,
            host_id: id,
            gpu_index: 0,
            vendor: 'software',
            model: 'none',
            vram_mb_total: 0,
            slots_total: sessionsEach,
            slots_used: sessionsEach,
            slots_guard: sessionsEach,
            reported: 0 as const,
            created_at: nowMs,
          })),
        )
        .execute();
      const sessions = some.flatMap((host) => host.sessions.map((id) => ({ id, host })));
      if (sessions.length > 0)
        await tx
          .insertInto('sessions')
          .values(
            sessions.map(({ id, host }) => ({
              id,
              user_id: host.owner.id,
              app_id: app.id,
              host_id: host.id,
              gpu_id: host.gpuId,
              gpu_index: 0,
              state: 'running' as const,
              video_topology: 'stream_only' as const,
              encode_slots: 1,
              encoder: 'openh264' as const,
              stream_width: 1280,
              stream_height: 720,
              stream_fps: 30,
              stream_bitrate_kbps: 3000,
              stream_abr_floor_kbps: 0,
              stream_codec: 'h264' as const,
              stream_h264_profile: 'constrained-baseline' as const,
              stream_playout0_ms: 0,
              stream_mic: 0 as const,
              stream_recording: 0 as const,
              relay_ready: 1 as const,
              created_at: nowMs,
              started_at: nowMs,
              updated_at: nowMs,
            })),
          )
          .execute();
    }
  });
  process.stdout.write(
    JSON.stringify({
      appId: app.id,
      adminToken: admin.token,
      hosts: hosts.map(({ owner, ...host }) => ({ ...host, ownerToken: owner.token })),
    }),
  );
} finally {
  await database.close();
}
