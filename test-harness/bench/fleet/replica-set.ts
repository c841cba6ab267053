import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { fetch } from 'undici';
import { FakeAgent, softwareCapacity } from '../../src/fake-agent/index.ts';
import { type NatsServer, startNats } from '../../src/nats.ts';
import { startPostgres } from '../../src/postgres.ts';
import { eventually, freePort, type Program, startProgram } from '../../src/stack/program.ts';
import { TcpRelay } from '../../src/tcp-relay.ts';
import { cpuMs } from '../api/load.ts';

const HOSTS = 6;
const SLOTS = 64;
/** Number of people who may register and sign in from one address at once. */
const PEOPLE = 5;
const START_LIMIT_MS = 60_000;
const PASSWORD = 'a-long-enough-pass-phrase';
const ENROLLMENT = 'a-fixed-enrollment-token';

/** Built control planes on one Postgres; the hosts are distributed evenly among them. */
export interface ReplicaSet {
  readonly urls: readonly string[];
  readonly tokens: readonly string[];
  readonly appId: string;
  /** CPU time of all control planes since their start, in milliseconds. */
  cpuMs(): number;
  stop(): Promise<void>;
}

/** @param count number of control planes; 1 runs without NATS, which is the usual setup */
export async function startReplicaSet(count: number): Promise<ReplicaSet> {
  const directory = mkdtempSync(path.join(tmpdir(), 'footlight-bench-'));
  const ends: (() => unknown)[] = [() => rmSync(directory, { recursive: true, force: true })];
  const stop = async () => {
    for (const end of ends.reverse()) await end();
  };
  try {
    const postgres = await startPostgres({ keepsCommits: true });
    ends.push(() => postgres.stop());
    const database = await postgres.createDatabase();
    const nats = count > 1 ? await startNats() : null;
    if (nats !== null) ends.push(() => nats.stop());
    const programs: Program[] = [];
    const urls: string[] = [];
    for (let n = 0; n < count; n += 1) {
      const { program, url } = await startReplica(path.join(directory, String(n)), database.url, nats);
      ends.push(() => program.kill('SIGTERM'));
      programs.push(program);
      urls.push(url);
    }
    const token = readFileSync(path.join(directory, '0', 'setup-token'), 'utf8').trim();
    const { tokens, appId } = await addPeople(urls[0] as string, token);
    const pool = new pg.Client({ connectionString: database.url });
    await pool.connect();
    await pool.query("update users set max_concurrent_sessions = 1000, role = 'admin'");
    await pool.end();
    const relay = await TcpRelay.to(...urls.map((url) => new URL(url)));
    ends.push(() => relay.close());
    for (let n = 0; n < HOSTS; n += 1) {
      const agent = new FakeAgent({
        url: `http://127.0.0.1:${relay.port}`,
        nodeName: `host-${n}`,
        credential: { token: ENROLLMENT },
        capacity: softwareCapacity({}, { encode_slots_total: SLOTS }),
      });
      await agent.connect();
      ends.push(() => agent.drop());
    }
    await eventually('every host takes sessions', START_LIMIT_MS, async () => {
      const { items } = (await ask(urls[0] as string, 'GET', '/v1/hosts', tokens[0])) as { items: Host[] };
      return (items.length === HOSTS && items.every((host) => host.capacity_detection === 'ok')) || null;
    });
    return { urls, tokens, appId, cpuMs: () => programs.reduce((sum, { pid }) => sum + cpuMs(pid), 0), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Host {
  capacity_detection: string;
}

async function startReplica(
  dataDir: string,
  databaseUrl: string,
  nats: NatsServer | null,
): Promise<{ program: Program; url: string }> {
  const port = await freePort();
  const program = startProgram(
    'control-plane',
    [],
    {
      CONTROL_PORT: String(port),
      LISTEN_ADDR: `127.0.0.1:${port}`,
      SERVICE_TLS: 'off',
      SERVICE_DATA_DIR: dataDir,
      SERVICE_SETUP_TOKEN_PATH: path.join(dataDir, 'setup-token'),
      SERVICE_ENROLLMENT_TOKEN: ENROLLMENT,
      SERVICE_CONNECTIONS_PER_ADDRESS: '0',
      DATABASE_URL: databaseUrl,
      ...(nats !== null && { SERVICE_BUS_URL: `nats://${nats.address}` }),
    },
    `${dataDir}.log`,
  );
  const url = `http://127.0.0.1:${port}`;
  await eventually('the control plane answers /health', START_LIMIT_MS, async () => {
    return (await fetch(`${url}/health`)).ok || null;
  });
  return { program, url };
}

async function addPeople(url: string, setupToken: string): Promise<{ tokens: string[]; appId: string }> {
  const body = { email: 'ada@example.org', username: 'ada', password: PASSWORD };
  const claimed = await ask(url, 'POST', '/v1/setup/claim', undefined, body, {
    'x-service-setup-token': setupToken,
  });
  const admin = (claimed as { access_token: string }).access_token;
  await ask(url, 'PATCH', '/v1/admin/settings', admin, { registration_mode: 'open' });
  const { app } = (await ask(url, 'POST', '/v1/apps', admin, {
    name: 'Demo',
    runtime_spec: { args: ['demo'] },
  })) as { app: { id: string } };
  const tokens = [admin];
  for (let n = 1; n < PEOPLE; n += 1) {
    const person = { email: `p${n}@example.org`, username: `p${n}`, password: PASSWORD };
    await ask(url, 'POST', '/v1/auth/register', undefined, person);
    const { email, password } = person;
    const login = await ask(url, 'POST', '/v1/auth/login', undefined, { email, password });
    tokens.push((login as { access_token: string }).access_token);
  }
  return { tokens, appId: app.id };
}

/** @throws Error with the answer of a refusal */
export async function ask(
  url: string,
  method: string,
  at: string,
  token?: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<unknown> {
  const answer = await fetch(`${url}${at}`, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${at}: ${answer.status} ${text}`);
  return text === '' ? null : JSON.parse(text);
}
