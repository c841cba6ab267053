/**
 * The reference for the benches `telemetry` and `trace`. It inserts each sample with one plain SQL statement, and has a
 * minimal route that returns the rows of a window. Prints its address, then reads jobs from standard input, one per
 * line, and answers each with one line. Argument: a file with samples, { viewer: object[], host: object[] }.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { createLogger } from '@footlight/platform';
import { CompiledQuery } from 'kysely';
import { loadConfig } from '../../platform/config/config.ts';
import { openDatabase } from '../../platform/database/index.ts';

interface Reporting {
  id: string;
  hostId: string;
}
type Job =
  /** Inserts the samples of these sessions: for each five seconds, five samples of a viewer and one of the host. */
  | { kind: 'insert'; sessions: Reporting[]; seconds: number }
  /** Inserts the same samples for the hours before a time, all at once. */
  | { kind: 'fill'; sessions: Reporting[]; hours: number; untilMs: number }
  | { kind: 'size' };

const PERIOD_MS = 5_000;
const VIEWER_SAMPLES = 5;
const ROWS_AT_ONCE = 500;
const COLUMNS = ['session_id', 'source', 'ts_unix_ms', 'host_id', 'metrics', 'received_at'];

const { database: target } = loadConfig(process.env);
const database = await openDatabase(target, { logger: createLogger('warn') });
const samples = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as {
  viewer: object[];
  host: object[];
};

const mark = (n: number): string => (database.dialect === 'postgres' ? `$${n + 1}` : '?');
const run = (text: string, values: unknown[]) => database.db.executeQuery(CompiledQuery.raw(text, values));
const insertText = (rows: number): string => {
  const tuples = Array.from(
    { length: rows },
    (_, row) => `(${COLUMNS.map((_column, n) => mark(row * COLUMNS.length + n)).join(', ')})`,
  );
  return `insert into session_samples (${COLUMNS.join(', ')}) values ${tuples.join(', ')}`;
};

/** Values of the samples of one session in five seconds. @param n number of the period */
function rowsOf({ id, hostId }: Reporting, n: number, endMs: number): unknown[][] {
  const text = (list: readonly object[], at: number) => JSON.stringify(list[at % list.length]);
  const viewer = Array.from({ length: VIEWER_SAMPLES }, (_, k) => [
    id,
    'browser',
    endMs - (VIEWER_SAMPLES - 1 - k) * 1_000,
    hostId,
    text(samples.viewer, n * VIEWER_SAMPLES + k),
    endMs,
  ]);
  return [...viewer, [id, 'agent', endMs, hostId, text(samples.host, n), endMs]];
}

async function insert({ sessions, seconds }: Job & { kind: 'insert' }): Promise<object> {
  const one = insertText(1);
  const startedMs = performance.now();
  const stepMs = PERIOD_MS / sessions.length;
  const periods = (seconds * 1_000) / PERIOD_MS;
  let rows = 0;
  for (let n = 0; n < periods; n++) {
    for (const [at, session] of sessions.entries()) {
      const waitMs = startedMs + n * PERIOD_MS + at * stepMs - performance.now();
      if (waitMs > 0) await delay(waitMs);
      for (const values of rowsOf(session, n, Date.now())) {
        await run(one, values);
        rows += 1;
      }
    }
  }
  return { rows };
}

async function fill({ sessions, hours, untilMs }: Job & { kind: 'fill' }): Promise<object> {
  const periods = (hours * 3_600_000) / PERIOD_MS;
  let rows = 0;
  for (const session of sessions) {
    const all = Array.from({ length: periods }, (_, n) =>
      rowsOf(session, n, untilMs - (periods - 1 - n) * PERIOD_MS),
    ).flat();
    rows += all.length;
    await database.transaction(async (tx) => {
      for (let from = 0; from < all.length; from += ROWS_AT_ONCE) {
        const part = all.slice(from, from + ROWS_AT_ONCE);
        await tx.executeQuery(CompiledQuery.raw(insertText(part.length), part.flat()));
      }
    });
  }
  if (database.dialect === 'postgres') await run('analyze session_samples', []);
  return { rows };
}

const READ_SAMPLES = `select source, ts_unix_ms, metrics from session_samples
  where session_id = ${mark(0)} and ts_unix_ms between ${mark(1)} and ${mark(2)} order by ts_unix_ms`;
const READ_EVENTS = `select source, ts_unix_ms, type, payload from session_trace_events
  where session_id = ${mark(0)} and ts_unix_ms between ${mark(1)} and ${mark(2)} order by ts_unix_ms`;

/** Samples and events of a window as JSON; figures and payloads are JSON values, not texts. */
async function windowText(url: URL): Promise<string> {
  const bounds = [
    url.searchParams.get('session'),
    ...['from', 'to'].map((name) => Number(url.searchParams.get(name))),
  ];
  const samples = (await run(READ_SAMPLES, bounds)).rows as { metrics: string }[];
  const events = (await run(READ_EVENTS, bounds)).rows as { payload: string }[];
  return JSON.stringify({
    samples: samples.map(({ metrics, ...row }) => ({ ...row, metrics: JSON.parse(metrics) })),
    events: events.map(({ payload, ...row }) => ({ ...row, payload: JSON.parse(payload) })),
  });
}

async function size(): Promise<object> {
  const bytes =
    database.dialect === 'postgres'
      ? `select pg_total_relation_size('session_samples') as bytes`
      : `select sum(pgsize) as bytes from dbstat where name like '%session_samples%'`;
  const [total] = (await run(bytes, [])).rows as { bytes: number }[];
  const [count] = (await run('select count(*) as rows from session_samples', [])).rows as { rows: number }[];
  return { bytes: Number(total?.bytes), rows: Number(count?.rows) };
}

function answer(job: Job): Promise<object> {
  switch (job.kind) {
    case 'insert':
      return insert(job);
    case 'fill':
      return fill(job);
    case 'size':
      return size();
  }
}

const server = createServer((incoming, answered) => {
  windowText(new URL(incoming.url ?? '/', 'http://localhost')).then(
    (text) => answered.setHeader('content-type', 'application/json').end(text),
    (error: unknown) => answered.writeHead(500).end(String(error)),
  );
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line) as Job))}\n`);
