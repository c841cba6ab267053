import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import type { InjectOptions } from 'fastify';
import { buildControlPlane, type ControlPlane, type Overrides } from '../app.ts';
import { type Config, loadConfig } from '../platform/config/config.ts';
import type { DatabaseTarget } from '../platform/database/index.ts';
import { REPLICAS, type Replicas, startReplicas } from './replicas.ts';
import { ROOMY_QUEUE } from './sign-in.ts';

/** Account with a ready bearer token, so that tests need no sign-in. */
export interface Person {
  id: string;
  username: string;
  email: string;
  role: 'user' | 'admin';
  token: string;
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  text: string;
  /** Parsed JSON body; undefined for an empty body or other formats. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read response bodies freely and assert their contents.
  body: any;
}

export interface CallOptions {
  /** Strings and bytes are sent unchanged; other values as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
}

/** Complete control plane with an injected clock and three named accounts. */
export interface TestApp {
  readonly plane: ControlPlane;
  /** Each control plane; any of them may serve a request. */
  readonly planes: readonly ControlPlane[];
  /** null: there is one control plane. */
  readonly replicas: Replicas | null;
  readonly clock: ManualClock;
  /** All log lines that were written. */
  readonly log: string[];
  readonly dir: string;
  readonly people: { admin: Person; alice: Person; bob: Person };
  /** Sends a request as an account; null sends no credentials. */
  call(as: Person | null, method: string, url: string, options?: CallOptions): Promise<Answer>;
  /** Adds an account with a valid token. */
  addPerson(username: string, role?: 'user' | 'admin'): Promise<Person>;
  close(): Promise<void>;
}

export interface TestAppOptions {
  /**
   * Environment variables in addition to the defaults. The defaults keep all files in a temporary folder and turn TLS
   * off.
   */
  env?: Record<string, string>;
  overrides?: Overrides;
  /** false: the instance has no accounts and no owner. */
  seedPeople?: boolean;
  /** Number of control planes on this database. Default: FOOTLIGHT_TEST_REPLICAS, or one. */
  replicas?: number;
  /** Start of the wall clock, in epoch milliseconds. Default: the common start of all tests. */
  nowMs?: number;
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Builds the service on the given database, without listening sockets. The time does not advance until `clock.advance`
 * is called. Rate limits per address are too high to be reached, unless `overrides` sets them.
 */
export async function createTestApp(target: DatabaseTarget, options: TestAppOptions = {}): Promise<TestApp> {
  const dir = mkdtempSync(join(tmpdir(), 'footlight-app-'));
  const clock = new ManualClock(options.nowMs);
  const log: string[] = [];
  const config: Config = {
    ...loadConfig({
      SERVICE_DATA_DIR: dir,
      SERVICE_SETUP_TOKEN_PATH: join(dir, 'run', 'setup-token'),
      SERVICE_DEV_AGENT_KEY_PATH: join(dir, 'run', 'dev-agent-key'),
      SERVICE_TLS: 'off',
      // A backup of a Postgres database needs pg_dump of the server's version.
      SERVICE_BACKUP_KEEP: '0',
      LISTEN_ADDR: '127.0.0.1:0',
      SERVICE_TLS_ADDR: '127.0.0.1:0',
      SERVICE_WEB_DIR: join(dir, 'web'),
      SERVICE_CONNECTIONS_PER_ADDRESS: '0',
      ...options.env,
    }),
    database: target,
  };
  const overrides: Overrides = {
    clock,
    logger: createLogger('debug', { write: (line) => void log.push(line) }),
    accountLimits: {
      signIn: { capacity: 10_000, refillEveryMs: 1 },
      perUser: { capacity: 10_000, refillEveryMs: 1 },
      failedLogins: { capacity: 10_000, refillEveryMs: 1 },
      hashQueue: ROOMY_QUEUE,
    },
    ...options.overrides,
  };
  const start = (of: Config) => startOrForget(dir, of, overrides);
  const count = options.replicas ?? (target.dialect === 'postgres' ? REPLICAS : 1);
  const replicas = count > 1 ? await startReplicas(config, count, start) : null;
  const plane = replicas?.plane ?? (await start(config));
  const app: TestApp = {
    plane,
    planes: replicas?.each.map((replica) => replica.plane) ?? [plane],
    replicas,
    clock,
    log,
    dir,
    people: {} as TestApp['people'],
    async call(as, method, url, { body, headers = {} } = {}) {
      const payload =
        body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
      await replicas?.settled();
      const answer = await plane.inject({
        method: method as NonNullable<InjectOptions['method']>,
        url,
        headers: { ...(as && { authorization: `Bearer ${as.token}` }), ...headers },
        ...(payload !== undefined && { payload }),
      });
      await replicas?.settled();
      return {
        status: answer.statusCode,
        headers: answer.headers,
        text: answer.body,
        body: parseOrUndefined(answer.body),
      };
    },
    addPerson: (username, role = 'user') => insertPerson(plane, clock, username, role),
    async close() {
      await plane.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  if (options.seedPeople !== false) {
    Object.assign(app.people, {
      admin: await app.addPerson('admin', 'admin'),
      alice: await app.addPerson('alice'),
      bob: await app.addPerson('bob'),
    });
  }
  return app;
}

/** Deletes the temporary folder when the service fails to start. */
async function startOrForget(dir: string, config: Config, overrides: Overrides): Promise<ControlPlane> {
  try {
    return await buildControlPlane(config, overrides);
  } catch (error) {
    rmSync(dir, { recursive: true, force: true });
    throw error;
  }
}

async function insertPerson(
  plane: ControlPlane,
  clock: ManualClock,
  username: string,
  role: Person['role'],
): Promise<Person> {
  const { database, random } = plane.platform;
  const person: Person = {
    id: random.uuid(),
    username,
    email: `${username}@example.test`,
    role,
    token: random.bytes(32).toString('base64url'),
  };
  const now = clock.nowMs();
  await database.transaction(async (tx) => {
    await tx
      .insertInto('users')
      .values({
        id: person.id,
        email: person.email,
        username,
        // No password matches this hash: the accounts sign in with their tokens.
        password_hash:
          '$argon2id$v=19$m=65536,t=3,p=2$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
        role,
        max_concurrent_sessions: 3,
        internal: 0,
        created_at: now,
        updated_at: now,
      })
      .execute();
    await tx
      .insertInto('auth_tokens')
      .values({
        id: random.uuid(),
        user_id: person.id,
        token_hash: sha256(person.token).toString('hex'),
        page_hash: sha256(sha256(`page:${person.token}`).toString('base64url')).toString('hex'),
        expires_at: now + 365 * 24 * 60 * 60 * 1000,
        created_at: now,
      })
      .execute();
  });
  return person;
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
