import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLogger, systemClock, systemRandom } from '@footlight/platform';
import type { LoginResponse } from '@footlight/protocol/rest';
import type { Kysely } from 'kysely';
import { createJobs } from '../../jobs/index.ts';
import { createInProcessBus } from '../../platform/bus/in-process.ts';
import { loadConfig } from '../../platform/config/config.ts';
import { type DatabaseTarget, openDatabase, type Schema } from '../../platform/database/index.ts';
import { sha256Hex } from '../../platform/digest.ts';
import { registerPages } from '../../platform/http/pages.ts';
import { createServer } from '../../platform/http/server.ts';
import { createLeader } from '../../platform/leader.ts';
import { NO_METERS } from '../../platform/meters.ts';
import type { ControlJobId, Platform } from '../../platform/platform.ts';
import { PeriodicWriter } from '../../platform/queues/periodic-writer.ts';
import { WriteBatch } from '../../platform/queues/write-batch.ts';
import { createSettings } from '../../settings/index.ts';
import { CHEAP_HASHES, ManualClock, PASSWORD } from '../../testing/index.ts';
import { type AccountsDeps, createAccounts, registerAccountsRoutes } from '../index.ts';

export const ADMIN = { email: 'admin@example.org', username: 'admin', password: PASSWORD };

export interface AccountsWorldOptions {
  env?: Record<string, string>;
  limits?: NonNullable<AccountsDeps['limits']>;
  /** Missing: a file in a temporary directory of this world. */
  setupTokenFile?: string;
  certificate?: AccountsDeps['certificate'];
}

export interface Call {
  /** Sent as JSON. */
  body?: unknown;
  /** Body bytes, in place of `body`. */
  raw?: string;
  bearer?: string;
  headers?: Record<string, string>;
  /** Peer address; missing: 127.0.0.1. */
  from?: string;
}

/** One line of the log, parsed. */
export type LogLine = Record<string, unknown> & { event?: string; level: string };

/** The accounts feature with the real platform and without other features. */
export async function openAccountsWorld(target: DatabaseTarget, options: AccountsWorldOptions) {
  const dir = mkdtempSync(path.join(tmpdir(), 'accounts-'));
  const setupTokenFile = options.setupTokenFile ?? path.join(dir, 'run', 'setup-token');
  const lines: string[] = [];
  const logger = createLogger('debug', { write: (line: string) => lines.push(line) });
  const clock = new ManualClock();
  const config = loadConfig({
    SERVICE_DATA_DIR: dir,
    SERVICE_TLS: 'off',
    SERVICE_SETUP_TOKEN_PATH: setupTokenFile,
    SERVICE_DEV_AGENT_KEY_PATH: path.join(dir, 'run', 'dev-agent-key'),
    SERVICE_WEB_DIR: path.join(dir, 'web'),
    ...options.env,
  });
  const database = await openDatabase(target, { logger, clock });
  const bus = createInProcessBus({ clock, logger });
  const leader = createLeader({ database, clock, random: systemRandom, logger, bus });
  const activity = { record: async () => {}, settled: async () => {} };
  const writeBatch = new WriteBatch(database);
  const base = {
    config,
    database,
    writeBatch,
    periodicWriter: new PeriodicWriter(clock, writeBatch),
    clock,
    random: systemRandom,
    logger,
    bus,
    leader,
    activity,
    meters: NO_METERS,
    traces: null,
    webhook: null,
  };
  const jobs = createJobs(base);
  const platform: Platform = { ...base, jobs };
  const settings = createSettings(platform);
  const granted: string[] = [];
  const stopped: { id: string; reason: string }[] = [];
  const deps: AccountsDeps = {
    settings,
    grantFirstAdminApps: async (_tx, userId) => {
      granted.push(userId);
    },
    listEntitlementsOfUser: async () => [],
    stopSessions: async (ids, reason) => {
      for (const id of ids) stopped.push({ id, reason });
    },
    certificate: options.certificate ?? (() => null),
    limits: { hashCost: CHEAP_HASHES, ...options.limits },
  };
  const accounts = createAccounts(platform, deps);
  const server = await createServer({
    config,
    logger,
    clock: systemClock,
    random: systemRandom,
    certificate: null,
    writable: () => true,
  });

  async function close(): Promise<void> {
    accounts.close();
    await server.close();
    await jobs.close();
    await leader.close();
    await bus.close();
    await database.close();
    rmSync(dir, { recursive: true, force: true });
  }

  try {
    server.setCallerChecks({ ...accounts, authenticateNode: async () => null });
    registerAccountsRoutes(server, accounts, platform, deps);
    await registerPages(server, { webDir: config.webDir, logger, gate: accounts, singleSignOn: null });
    await settings.seed();
    await jobs.start();
    await accounts.boot();
  } catch (error) {
    await close();
    throw error;
  }

  const world = {
    accounts,
    clock,
    settings,
    setupTokenFile,
    stopped: stopped as readonly { id: string; reason: string }[],
    granted: granted as readonly string[],
    db: database.db as Kysely<Schema>,
    runTask: (id: string) => leader.runNow(id),
    runJob: (id: ControlJobId) => jobs.runNow(id),
    close,
    log: () => lines.join(''),
    logEvents: (event: string): LogLine[] =>
      lines.map((line) => JSON.parse(line) as LogLine).filter((line) => line.event === event),
    setupToken: () => readFileSync(setupTokenFile, 'utf8').trim(),

    call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, call: Call = {}) {
      const payload = call.raw ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
      return server.fastify.inject({
        method,
        url,
        headers: { ...(call.bearer && { authorization: `Bearer ${call.bearer}` }), ...call.headers },
        ...(payload !== undefined && { payload }),
        ...(call.from && { remoteAddress: call.from }),
      });
    },

    /** Registers an account with an email at example.org. */
    async register(username: string): Promise<void> {
      const body = { email: `${username}@example.org`, username, password: PASSWORD };
      const answer = await world.call('POST', '/v1/auth/register', { body });
      if (answer.statusCode !== 201) throw new Error(`${username} was not registered: ${answer.body}`);
    },

    /** Signs in with the password that all tests use. */
    async login(email: string, more: object = {}): Promise<LoginResponse> {
      const answer = await world.call('POST', '/v1/auth/login', {
        body: { email, password: PASSWORD, ...more },
      });
      if (answer.statusCode !== 200) throw new Error(`${email} was not signed in: ${answer.body}`);
      return answer.json() as LoginResponse;
    },

    /** Claims the instance and signs in as the administrator. */
    async claim(): Promise<LoginResponse> {
      const headers = { 'x-service-setup-token': world.setupToken() };
      const answer = await world.call('POST', '/v1/setup/claim', { body: ADMIN, headers });
      if (answer.statusCode !== 201) throw new Error(`the instance was not claimed: ${answer.body}`);
      return answer.json() as LoginResponse;
    },
  };
  return world;
}

export type AccountsWorld = Awaited<ReturnType<typeof openAccountsWorld>>;

/** @returns a function that gives each test its own world on a new database, and closes it even if the test fails */
export function worldsOn(freshDatabase: () => Promise<DatabaseTarget>) {
  return async (
    options: AccountsWorldOptions,
    work: (world: AccountsWorld) => Promise<void>,
  ): Promise<void> => {
    const world = await openAccountsWorld(await freshDatabase(), options);
    try {
      await work(world);
    } finally {
      await world.close();
    }
  };
}

/** Stores an invite with one use, unless `more` overrides it. */
export async function addInvite(world: AccountsWorld, code: string, more: object = {}): Promise<void> {
  const row = {
    id: crypto.randomUUID(),
    code_hash: sha256Hex(code),
    role: 'user' as const,
    max_uses: 1,
    used_count: 0,
    expires_at: null,
    revoked_at: null,
    note: null,
    created_by_user_id: null,
    created_at: 0,
  };
  await world.db
    .insertInto('invites')
    .values({ ...row, ...more })
    .execute();
}
