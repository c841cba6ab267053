/**
 * Fills a fleet repeatedly, for the bench of admission. Reads commands such as {"side":"subject","clients":8} from
 * standard input, one per line, and prints each result as JSON.
 *
 * - subject: a launch from the request to the committed session, without HTTP and without an agent.
 * - reference: the writes that every launch needs, as plain SQL with all values known beforehand.
 */
import { createInterface } from 'node:readline';
import { CompiledQuery } from 'kysely';
import { buildControlPlane } from '../../app.ts';
import { loadConfig } from '../../platform/config/config.ts';
import { createLauncher } from '../../sessions/index.ts';
import { createSettings } from '../../settings/index.ts';
import { createSignalingTokens } from '../../signaling/index.ts';
import { fillLargeCatalog } from './large-catalog.ts';
import { addLargeFleet } from './large-fleet.ts';

const FLEET = { hosts: 200, slots: 5 };
const ROOM = FLEET.hosts * FLEET.slots;
const MAX_CLIENTS = 64;

const plane = await buildControlPlane(loadConfig(process.env));
const { platform } = plane;
const { database, clock, random } = platform;
const catalog = await fillLargeCatalog(
  database,
  { users: MAX_CLIENTS, apps: 4, entitlements: 0, signedIn: MAX_CLIENTS },
  'none',
  clock.nowMs(),
);
await database.db.updateTable('users').set({ max_concurrent_sessions: 1_000_000 }).execute();
const gpuIds = await addLargeFleet({ plane, clock }, FLEET);
const hostIds = new Map(
  (await database.db.selectFrom('gpus').select(['id', 'host_id']).execute()).map((row) => [
    row.id,
    row.host_id,
  ]),
);
const appId = catalog.apps[0]?.id ?? '';
const launcher = createLauncher(platform, {
  presence: { isReachable: async () => true },
  settings: createSettings(platform),
  tokens: createSignalingTokens(platform),
});

type Launch = (client: number, n: number) => Promise<void>;

const subject: Launch = async (client) => {
  const userId = catalog.users[client]?.id ?? '';
  await launcher.launch({ userId, role: 'user', deviceId: null }, { app_id: appId, mic: false });
};

/** Rows of a launch, copied from a real launch. */
async function rawLaunch(): Promise<Launch> {
  await subject(0, 0);
  const { db } = database;
  const session = await db.selectFrom('sessions').selectAll().executeTakeFirstOrThrow();
  const placement = await db.selectFrom('session_placements').selectAll().executeTakeFirstOrThrow();
  const token = await db.selectFrom('signaling_tokens').selectAll().executeTakeFirstOrThrow();
  const mark = (n: number): string => (database.dialect === 'postgres' ? `$${n + 1}` : '?');
  const insert = (table: string, row: object): string => {
    const columns = Object.keys(row);
    return `insert into ${table} (${columns.join(', ')}) values (${columns.map((_, n) => mark(n)).join(', ')})`;
  };
  const lock = `select id from users where id = ${mark(0)}${database.dialect === 'postgres' ? ' for update' : ''}`;
  const take = `update gpus set slots_used = slots_used + 1, sessions_active = sessions_active + 1 where id = ${mark(0)}`;
  const inserts = [
    insert('sessions', session),
    insert('session_placements', placement),
    insert('signaling_tokens', token),
  ] as const;
  return async (client, n) => {
    const [user_id, gpu_id, id] = [
      catalog.users[client]?.id ?? '',
      gpuIds[n % gpuIds.length] ?? '',
      random.uuid(),
    ];
    const rows = [
      { ...session, id, user_id, gpu_id, host_id: hostIds.get(gpu_id) ?? '' },
      { ...placement, session_id: id },
      { ...token, token_hash: id, session_id: id },
    ];
    await database.transaction(async (tx) => {
      const run = (text: string, values: unknown[]) => tx.executeQuery(CompiledQuery.raw(text, values));
      await run(lock, [user_id]);
      await run(take, [gpu_id]);
      for (const [index, text] of inserts.entries()) await run(text, Object.values(rows[index] ?? {}));
    });
  };
}

async function clear(): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.deleteFrom('sessions').execute();
    await tx.updateTable('gpus').set({ slots_used: 0, sessions_active: 0 }).execute();
  });
}

/** Fills every slot of the fleet. @returns launches per second and the errors */
async function fill(launch: Launch, clients: number): Promise<object> {
  await clear();
  let next = 0;
  let refused = 0;
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      while (next < ROOM) {
        const n = next++;
        await launch(client, n).catch((error: { code?: string }) => {
          if (error.code !== 'capacity_exhausted') throw error;
          refused += 1;
        });
      }
    }),
  );
  const seconds = (performance.now() - startedMs) / 1000;
  const gpus = await database.db
    .selectFrom('gpus')
    .select(['slots_total', 'slots_used'])
    .select((eb) =>
      eb
        .selectFrom('sessions')
        .select((e) => e.fn.countAll<number>().as('held'))
        .whereRef('sessions.gpu_id', '=', 'gpus.id')
        .as('held'),
    )
    .execute();
  const overbooked = gpus.filter(
    (gpu) => Number(gpu.held) > gpu.slots_total || Number(gpu.held) !== gpu.slots_used,
  );
  return { perSecond: ROOM / seconds, refused, overbooked: overbooked.length };
}

const sides: Record<string, Launch> = { subject, reference: await rawLaunch() };
process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const { side, clients } = JSON.parse(line) as { side: string; clients: number };
  process.stdout.write(`${JSON.stringify(await fill(sides[side] ?? subject, clients))}\n`);
}
