import { createHash, randomUUID } from 'node:crypto';
import { FULLY_INSTALLED, type ScanTask } from '@footlight/protocol/agent';
import type { DatabaseTarget } from '../../platform/database/index.ts';
import { type Answer, addHost, createTestApp, type Person, type TestApp } from '../../testing/index.ts';

/** A host whose agent calls the service over HTTP. */
export interface TestHost {
  id: string;
  name: string;
  /** @param bootId boot id of the agent process; null: the agent sends none */
  call(method: string, path: string, body?: unknown, bootId?: string | null): Promise<Answer>;
  /** Claims pending scans of the host. */
  poll(bootId?: string | null): Promise<ScanTask[]>;
}

type Title = string | { id: string; name?: string; flags?: number };

/** An instance with discovery on, a provider app and two hosts. */
export interface DiscoveryWorld {
  readonly app: TestApp;
  readonly hostA: TestHost;
  readonly hostB: TestHost;
  readonly providerId: string;
  /** Calls the API as the administrator. */
  admin(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Adds a home of the provider app. */
  addHome(person: Person, host: TestHost, more?: object): Promise<string>;
  /** Queues a manual scan of every home. */
  force(body?: object): Promise<Answer>;
  report(host: TestHost, scanId: string, titles: readonly Title[], more?: object): Promise<Answer>;
  /** Runs one complete scan of the only home of a host. @returns the answer to the report */
  scan(host: TestHost, titles: readonly Title[], more?: object): Promise<Answer>;
  /** Names of the apps in the person's list, sorted. */
  seenBy(person: Person): Promise<string[]>;
  tiles(): Promise<{ id: string; name: string; external_id: string; enabled: number; origin: string }[]>;
  close(): Promise<void>;
}

const BOOT = '11111111-1111-4111-8111-111111111111';

export async function openDiscoveryWorld(
  target: DatabaseTarget,
  options: Parameters<typeof createTestApp>[1] = {},
): Promise<DiscoveryWorld> {
  const app = await createTestApp(target, options);
  const { db } = app.plane.platform.database;
  const admin = (method: string, path: string, body?: unknown) =>
    app.call(app.people.admin, method, path, body === undefined ? {} : { body });
  await admin('PATCH', '/v1/admin/settings', { library_discovery_enabled: true });
  const provider = await admin('POST', '/v1/apps', {
    name: 'Steam',
    kind: 'launcher',
    library_provider: 'steam',
    managed_home: true,
    entitle: 'none',
  });

  async function addAgent(name: string): Promise<TestHost> {
    const id = await addHost(app, name);
    const secret = createHash('sha256').update(name).digest('base64url');
    const secretHash = createHash('sha256').update(secret).digest('hex');
    await db.updateTable('hosts').set({ secret_hash: secretHash }).where('id', '=', id).execute();
    const call: TestHost['call'] = (method, path, body, bootId = BOOT) =>
      app.call(null, method, path, {
        ...(body !== undefined && { body }),
        headers: {
          'x-service-node': name,
          authorization: `Bearer ${secret}`,
          ...(bootId !== null && { 'x-service-boot': bootId }),
        },
      });
    return {
      id,
      name,
      call,
      poll: async (bootId) =>
        (await call('GET', '/v1/agent/library/scan-pending', undefined, bootId)).body.scans,
    };
  }

  const world: DiscoveryWorld = {
    app,
    hostA: await addAgent('host-a'),
    hostB: await addAgent('host-b'),
    providerId: provider.body.app.id,
    admin,
    async addHome(person, host, more = {}) {
      const id = randomUUID();
      const nowMs = app.clock.nowMs();
      await db
        .insertInto('storage_homes')
        .values({
          id,
          user_id: person.id,
          app_id: world.providerId,
          host_id: host.id,
          provider: 'local',
          ref: `/srv/homes/${id}`,
          bytes_used: 0,
          created_at: nowMs,
          last_used_at: nowMs,
          gc_after: null,
          ...more,
        })
        .execute();
      return id;
    },
    force: (body) => admin('POST', '/v1/admin/library/scan', body),
    report: (host, scanId, titles, more = {}) =>
      host.call('POST', '/v1/agent/library/scan-report', {
        scan_id: scanId,
        ok: true,
        entries: titles.map((title) => {
          const {
            id,
            name = `Title ${id}`,
            flags = FULLY_INSTALLED,
          } = typeof title === 'string' ? { id: title } : title;
          return { external_id: id, name, install_dir: '', size_on_disk: 0, state_flags: flags };
        }),
        ...more,
      }),
    async scan(host, titles, more) {
      // Advance the clock, because scans with the same time have no order.
      await app.clock.advance(1);
      await world.force();
      const [task] = await host.poll();
      if (task === undefined) throw new Error('no scan was handed out');
      return world.report(host, task.scan_id, titles, more);
    },
    async seenBy(person) {
      const { body } = await app.call(person, 'GET', '/v1/apps?limit=1000');
      return body.items.map(({ name }: { name: string }) => name).sort();
    },
    tiles: () =>
      db
        .selectFrom('apps')
        .select(['id', 'name', 'external_id', 'enabled', 'origin'])
        .where('parent_app_id', '=', world.providerId)
        .orderBy('external_id')
        .execute(),
    close: () => app.close(),
  };
  return world;
}
