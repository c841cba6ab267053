/**
 * metrics: the metrics page while 10,000 hosts with two sessions each are connected and send heartbeats, on SQLite and
 * on Postgres. The time runs from the request to the last byte, and is compared with a bare server that answers the
 * same bytes.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { fetch } from 'undici';
import { freePort } from '../../src/stack/program.ts';
import type { Dialect } from '../api/large-instance.ts';
import { alternate, exitStatus, judge, median, printVerdict } from '../rounds.ts';
import { run } from './fleet.ts';
import { type FleetInstance, withFleet } from './fleet-instance.ts';

const FLEET = { hosts: 10_000, sessionsEach: 2 };
const HEARTBEAT_MS = 5_000;
const READS = 20;
const MARK_MS = 50;
const AGENTS = 'test-harness/bench/fleet/agents-main.ts';

/** @returns exit status: the worst of the dialects */
export async function benchMetrics(rounds: number, dialects: readonly Dialect[]): Promise<number> {
  const statuses: number[] = [];
  for (const dialect of dialects) {
    const name = `metrics ${dialect}`;
    statuses.push(await withFleet(FLEET, AGENTS, (fleet) => measure(name, rounds, fleet), { dialect }));
  }
  return Math.max(...statuses);
}

async function measure(
  name: string,
  rounds: number,
  { load: agents, env, startControl }: FleetInstance,
): Promise<number> {
  const port = await freePort();
  const control = await startControl({ SERVICE_METRICS_ADDR: `127.0.0.1:${port}` });
  let page = '';
  const bare = createServer((_request, response) => void response.end(page)).listen(0, '127.0.0.1');
  try {
    await run(agents, { kind: 'connect', url: control.url, heartbeatMs: HEARTBEAT_MS, detail: null });
    if (env.DATABASE_URL !== undefined) await vacuum(env.DATABASE_URL);
    const url = `http://127.0.0.1:${port}/metrics`;
    page = await read(url);
    if (!page.includes(`footlight_hosts{status="online"} ${FLEET.hosts}\n`))
      throw new Error(`not all hosts are online: ${page.match(/^footlight_hosts.*$/gm)?.join(', ')}`);
    const bareUrl = `http://127.0.0.1:${(bare.address() as AddressInfo).port}/`;
    const [times = []] = await alternate(
      rounds,
      { reference: async () => [await medianOf(bareUrl)], subject: async () => [await medianOf(url)] },
      [name],
    );
    const judgement = judge(name, times, (_ratio, ms) => ms <= MARK_MS, 'ms');
    printVerdict({ ...judgement, mark: `${MARK_MS} ms` });
    return exitStatus(judgement.verdict);
  } finally {
    await run(agents, { kind: 'drop' });
    bare.close();
    await control.stop();
  }
}

/** Removes the old rows of the registrations now. Postgres' autovacuum would do it only within a minute. */
async function vacuum(database: string): Promise<void> {
  const client = new pg.Client(database);
  await client.connect();
  await client.query('vacuum (analyze)');
  await client.end();
}

async function read(url: string): Promise<string> {
  const answer = await fetch(url);
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${text}`);
  return text;
}

async function medianOf(url: string): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < READS; n += 1) {
    const from = performance.now();
    await read(url);
    times.push(performance.now() - from);
  }
  return median(times);
}
