import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { addEvidence } from '../evidence.ts';
import { type ApiAnswer, type ApiCall, ApiClient } from './api-client.ts';
import { takesSessions } from './host-ready.ts';
import {
  ExpiredWait,
  eventually,
  freePort,
  fromSource,
  PATIENCE_MS,
  type Program,
  repositoryRoot,
  startProgram,
} from './program.ts';

export interface StackOptions {
  /** postgres://…; absent: SQLite in the stack's directory. */
  readonly databaseUrl?: string;
  /** Additional environment variables of the control plane or the agent. */
  readonly controlEnv?: Record<string, string>;
  readonly agentEnv?: Record<string, string>;
  /** Unprivileged user id of the agent; absent: the tests' user. */
  readonly agentUid?: number;
  /** Module below the repository that the agent loads first. The agent then runs from source. */
  readonly agentPreload?: string;
  /** Additional apps for the seed file, as bodies of POST /v1/apps. */
  readonly apps?: readonly object[];
}

/** Control plane and agent on this machine, with separate ports and directories. */
export interface Stack {
  readonly directory: string;
  readonly httpsUrl: string;
  readonly httpUrl: string;
  readonly healthUrl: string;
  control: Program;
  agent: Program;
  setupToken(): string;
  /** Restarts a killed program with the same environment. */
  startControl(): Promise<void>;
  startAgent(): Promise<void>;
  /** Calls the API over HTTPS without verifying the certificate. */
  call(method: string, path: string, options?: ApiCall): Promise<ApiAnswer>;
  /** Claims the instance and signs in as its first administrator. */
  claim(): Promise<{ token: string; email: string; username: string; password: string }>;
  stop(): Promise<void>;
}

/**
 * Parent of the directories of stacks. An ordinary user can only write to /var/tmp. Apps of an ordinary user use the
 * host's /var/tmp, so they can read the files.
 */
const STACKS = process.getuid?.() === 0 ? '/srv' : '/var/tmp';
/** Part of the test run's id in the names of directories, by which the test run finds leftovers. */
const runTag = process.env.FOOTLIGHT_TEST_RUN?.slice(0, 8) ?? 'stack';
const ADMIN = { email: 'ada@example.org', username: 'ada', password: 'a-long-enough-pass-phrase' };

/**
 * User ids of one stack's sessions. An agent ends the processes of its users when it starts, so stacks of two test runs
 * on one machine must not share them. Other ids belong to one test file each (scripts/checks/test-users.test.ts).
 */
function ownUids(): string {
  const first = 75_000 + 32 * randomInt(125);
  return `${first}-${first + 31}`;
}

/** App body of the Diagnostics pattern at a size other than the seeded 1280×720. */
export function diagnosticsApp(
  directory: string,
  name: string,
  stream: { width: number; height: number; fps: number },
): object {
  return {
    name,
    default_width: stream.width,
    default_height: stream.height,
    default_fps: stream.fps,
    default_bitrate_kbps: 4000,
    runtime_spec: { args: [process.execPath, path.join(directory, 'apps', 'diagnostics.mjs')] },
  };
}

/** Start command of the agent: the operator's script, or from source with a test's module. */
function agentProgram(preload?: string): { command: string; words: string[]; env: Record<string, string> } {
  if (preload === undefined) return { command: 'node-agent', words: ['run'], env: {} };
  return {
    command: process.execPath,
    words: [path.join(repositoryRoot, 'node-agent/src/main.ts'), 'run'],
    // Workers and probes of the agent inherit NODE_OPTIONS.
    env: { NODE_OPTIONS: fromSource(preload).join(' ') },
  };
}

/** Error of a control plane or an agent whose port is used by another program. */
const PORT_TAKEN = /another program has it|EADDRINUSE/;
const STARTS = 3;

/**
 * Starts control plane and agent and waits until the agent is connected. Retries with other ports if another program
 * took a port between its selection and its use.
 */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  for (let start = 1; ; start++) {
    // Not below /tmp or /var/tmp: each session of a root agent has its own /tmp and /var/tmp, which would hide the
    // apps' files.
    const directory = mkdtempSync(path.join(STACKS, `footlight-${runTag}-`));
    try {
      return await startOnce(options, directory);
    } catch (error) {
      remove(directory);
      if (start === STARTS || !PORT_TAKEN.test(String(error))) throw error;
    }
  }
}

async function startOnce(options: StackOptions, directory: string): Promise<Stack> {
  // Session users need to traverse the directory to reach their homes.
  chmodSync(directory, 0o711);
  const apps = path.join(directory, 'apps');
  const agentDir = path.join(directory, 'agent');
  mkdirSync(apps, { mode: 0o755 });
  mkdirSync(agentDir, { mode: 0o711 });
  const { agentUid = null } = options;
  if (agentUid !== null) chownSync(agentDir, agentUid, agentUid);
  const diagnostics = path.join(apps, 'diagnostics.mjs');
  copyFileSync(path.join(repositoryRoot, 'node-agent', 'dist', 'diagnostics.mjs'), diagnostics);
  const { demoApps, seedEntries } = await import('../../../scripts/bring-up/demo-apps.mjs');
  const seedFile = path.join(directory, 'seed.json');
  writeFileSync(
    seedFile,
    JSON.stringify([
      ...seedEntries(demoApps({ node: process.execPath, diagnostics })),
      ...(options.apps ?? []),
    ]),
  );

  const [httpPort, httpsPort, healthPort] = [await freePort(), await freePort(), await freePort()];
  const enrollmentToken = 'an-enrollment-token-of-this-test-run';
  const controlEnv = {
    CONTROL_PORT: String(httpPort),
    SERVICE_TLS_PORT: String(httpsPort),
    SERVICE_DATA_DIR: path.join(directory, 'control'),
    SERVICE_SETUP_TOKEN_PATH: path.join(directory, 'control', 'setup-token'),
    SERVICE_SEED_FILE: seedFile,
    SERVICE_ENROLLMENT_TOKEN: enrollmentToken,
    // A backup of a Postgres database needs pg_dump of the server's version.
    SERVICE_BACKUP_KEEP: '0',
    ...(options.databaseUrl === undefined ? {} : { DATABASE_URL: options.databaseUrl }),
    ...options.controlEnv,
  };
  const agentEnv = {
    SERVICE_CONTROL_URL: `http://127.0.0.1:${httpPort}`,
    SERVICE_AGENT_STATE_DIR: agentDir,
    SERVICE_AGENT_HEALTH_ADDR: `127.0.0.1:${healthPort}`,
    SERVICE_ENROLLMENT_TOKEN: enrollmentToken,
    SERVICE_NODE_NAME: 'test-host',
    SERVICE_PROCESS_RUNTIME: '1',
    // Off, because stacks at the same time would take the port from each other.
    SERVICE_MEDIA_FALLBACK_PORT: '0',
    SERVICE_PROCESS_UIDS: ownUids(),
    ...(process.env.FOOTLIGHT_TEST_PATIENCE === undefined
      ? {}
      : { FOOTLIGHT_TEST_PATIENCE: process.env.FOOTLIGHT_TEST_PATIENCE }),
    ...options.agentEnv,
  };
  mkdirSync(controlEnv.SERVICE_DATA_DIR, { mode: 0o700 });

  const httpUrl = `http://127.0.0.1:${httpPort}`;
  const httpsUrl = `https://127.0.0.1:${httpsPort}`;
  const healthUrl = `http://127.0.0.1:${healthPort}/health`;
  const api = new ApiClient(httpsUrl);

  const startControl = async (): Promise<Program> => {
    const program = startProgram('control-plane', [], controlEnv, path.join(directory, 'control-plane.log'));
    await up(
      program,
      'the control plane answers /health',
      async () => (await fetch(`${httpUrl}/health`)).ok || null,
    );
    return program;
  };
  const startAgent = async (): Promise<Program> => {
    const { command, words, env } = agentProgram(options.agentPreload);
    const log = path.join(directory, 'node-agent.log');
    const home = agentUid === null ? {} : { HOME: agentDir };
    const program = startProgram(command, words, { ...agentEnv, ...env, ...home }, log, null, agentUid);
    await up(program, 'the agent is connected', async () => {
      const health = (await (await fetch(healthUrl)).json()) as { connected: boolean };
      return health.connected || null;
    });
    return program;
  };

  // Both programs start at the same time to save time: the agent tests its encoders while the control plane starts.
  const [controlStart, agentStart] = await Promise.allSettled([startControl(), startAgent()]);
  if (controlStart.status === 'rejected' || agentStart.status === 'rejected') {
    for (const start of [controlStart, agentStart])
      if (start.status === 'fulfilled') await start.value.kill('SIGKILL');
    throw controlStart.status === 'rejected'
      ? controlStart.reason
      : (agentStart as PromiseRejectedResult).reason;
  }
  const [control, agent] = [controlStart.value, agentStart.value];

  const leave = addEvidence((file) => {
    for (const program of [stack.control, stack.agent])
      copyFileSync(program.logFile, file(path.basename(program.logFile)));
  });
  const stack: Stack = {
    directory,
    httpsUrl,
    httpUrl,
    healthUrl,
    control,
    agent,
    setupToken: () => readFileSync(controlEnv.SERVICE_SETUP_TOKEN_PATH, 'utf8').trim(),
    async startControl() {
      stack.control = await startControl();
    },
    async startAgent() {
      stack.agent = await startAgent();
    },
    call: (method, path, options) => api.call(method, path, options),
    async claim() {
      const answer = await stack.call('POST', '/v1/setup/claim', {
        body: ADMIN,
        headers: { 'x-service-setup-token': stack.setupToken() },
      });
      if (answer.status !== 201)
        throw new Error(`The claim was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
      const token = answer.body.access_token as string;
      await takesSessions(async () => (await stack.call('GET', '/v1/hosts', { token })).body.items[0]);
      return { ...ADMIN, token };
    },
    async stop() {
      leave();
      await stack.agent.kill('SIGTERM');
      await stack.control.kill('SIGTERM');
      await api.close();
      remove(directory);
    },
  };
  return stack;
}

async function up(program: Program, what: string, probe: () => Promise<true | null>): Promise<void> {
  let gone = false;
  void program.exited.then(() => {
    gone = true;
  });
  try {
    await eventually(what, PATIENCE_MS, async () => {
      if (gone) return true;
      return await probe();
    });
    if (gone) throw new Error(`${what}: the program ended`);
  } catch (error) {
    await program.kill('SIGKILL').catch(() => undefined);
    const text = `${String(error)}\n${program.log().split('\n').slice(-30).join('\n')}`;
    throw error instanceof ExpiredWait ? new ExpiredWait(text) : new Error(text);
  }
}

function remove(directory: string): void {
  unmountBelow(directory);
  rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

/**
 * Removes the mounts that a failed run has left, so that they do not disturb the next run. Tests for leftovers check
 * the mounts before this call.
 */
function unmountBelow(directory: string): void {
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((target) => target.startsWith(`${directory}/`));
  for (const target of mounts.reverse()) execFileSync('umount', ['-l', target]);
}
