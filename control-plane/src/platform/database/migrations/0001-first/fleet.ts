import { type Kysely, sql } from 'kysely';
import type { Dialect } from '../../database.ts';
import type { Schema } from '../../schema.ts';

/** Hosts, GPUs and enrollment tokens. */
export async function createFleet(db: Kysely<Schema>, dialect: Dialect): Promise<void> {
  await db.schema
    .createTable('hosts')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('node_name', 'text', (c) => c.notNull().unique())
    .addColumn('status', 'text', (c) => c.notNull().check(sql`status in ('online', 'offline', 'draining')`))
    .addColumn('drain_intent', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('agent_version', 'text')
    .addColumn('features', 'text', (c) => c.notNull().defaultTo('[]'))
    .addColumn('cpu_cores', 'bigint')
    .addColumn('mem_mb', 'bigint')
    .addColumn('cpu_model', 'text')
    .addColumn('storage', 'text')
    .addColumn('capacity_detection', 'text', (c) =>
      c.notNull().check(sql`capacity_detection in ('ok', 'unavailable', 'failed')`),
    )
    .addColumn('capacity_reason', 'text')
    .addColumn('readiness', 'text')
    .addColumn('readiness_reported_at', 'bigint')
    .addColumn('codecs', 'text')
    .addColumn('codec_throughput', 'text')
    .addColumn('encoders', 'text')
    .addColumn('effective_settings', 'text')
    .addColumn('console_capabilities', 'text')
    .addColumn('settings_overrides', 'text', (c) => c.notNull().defaultTo('{}'))
    .addColumn('console_config', 'text')
    .addColumn('pending_restart', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('secret_hash', 'text', (c) => c.notNull())
    .addColumn('next_secret_hash', 'text')
    .addColumn('enrollment_token_id', 'text')
    .addColumn('first_capacity_at', 'bigint')
    .addColumn('boot_id', 'text')
    .addColumn('last_seq', 'bigint')
    .addColumn('connection_id', 'text')
    .addColumn('last_registered_at', 'bigint')
    .addColumn('last_heartbeat_at', 'bigint')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
  await db.schema.createIndex('hosts_by_age').on('hosts').columns(['created_at', 'id']).execute();
  // Index for the counts on the metrics page: the query took 1 ms instead of 17 with 10,000 hosts on SQLite.
  await db.schema.createIndex('hosts_by_status').on('hosts').columns(['status', 'id']).execute();

  await db.schema
    .createTable('gpus')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('host_id', 'text', (c) => c.notNull().references('hosts.id').onDelete('cascade'))
    .addColumn('gpu_index', 'integer', (c) => c.notNull())
    .addColumn('vendor', 'text', (c) => c.notNull())
    .addColumn('model', 'text', (c) => c.notNull())
    .addColumn('vram_mb_total', 'bigint', (c) => c.notNull())
    .addColumn('slots_total', 'integer', (c) => c.notNull())
    .addColumn('slots_used', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('slots_guard', 'integer', (c) => c.notNull())
    // Stored, because placement prefers the GPU with fewer sessions, and counting them at every launch is expensive.
    .addColumn('sessions_active', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('render_node', 'text')
    .addColumn('reported', 'integer', (c) => c.notNull())
    .addColumn('vram_mb_used', 'bigint')
    .addColumn('vram_mb_free', 'bigint')
    .addColumn('vram_sampled_at', 'bigint')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('gpus_host_index', ['host_id', 'gpu_index'])
    // Last guard against overbooking: admission checks the slots, and this constraint detects a bug in admission.
    .addCheckConstraint('gpus_slots_bounded', sql`slots_used >= 0 and slots_used <= slots_guard`)
    .execute();
  // Placement reads the free slots of every GPU from this index instead of summing sessions.
  await db.schema
    .createIndex('gpus_by_free_slots')
    .on('gpus')
    .expression(sql`(slots_total - slots_used)`)
    .execute();

  await db.schema
    .createTable('enrollment_tokens')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('token_hash', 'text', (c) => c.notNull().unique())
    .addColumn('note', 'text', (c) => c.notNull())
    .addColumn('node_name', 'text')
    .addColumn('bound_node_name', 'text')
    .addColumn('bound_enroll_id', 'text')
    .addColumn('host_id', 'text')
    .addColumn('created_by', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('used_at', 'bigint')
    .execute();
  await db.schema
    .createIndex('enrollment_tokens_by_age')
    .on('enrollment_tokens')
    .columns(['created_at', 'id'])
    .execute();

  if (dialect === 'postgres') {
    // An update in Postgres stores a new version of the row. If the row's page has free space, the new version goes
    // there, no index changes, and the old version is removed soon. Without free space the table of 10,000 hosts grew
    // to 122 MB in a minute of heartbeats (with free space: 16 MB), and each query over all hosts had to read the whole
    // table.
    await sql`alter table hosts set (fillfactor = 50)`.execute(db);
    await sql`alter table gpus set (fillfactor = 50)`.execute(db);
  }
}
