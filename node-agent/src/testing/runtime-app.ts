import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, type Logger, silentLogger, systemClock, systemRandom } from '@footlight/platform';
import type { AppSpec } from '@footlight/protocol/agent';
import { NetworkPool } from '../runtime/network/network-pool.ts';
import { ProcessRuntime, type ProcessRuntimeOptions } from '../runtime/process.ts';
import type { RunningApp, SessionUser } from '../runtime/runtime.ts';
import { makeSessionDirs, sessionDirs } from '../sessions/resources/record.ts';

export const RUNTIME_SESSION = '0b253cc2-059b-4b22-b34d-5ad7a7949052';

/**
 * Creates a folder for the directories of sessions; the users of sessions may traverse it. With root rights the folder
 * is not below /tmp or /var/tmp, because each session then has its own private /tmp and /var/tmp. Owner: the caller,
 * which removes the folder.
 */
export function makeStateDir(): string {
  const stateDir = mkdtempSync(join(process.getuid?.() === 0 ? '/srv' : tmpdir(), 'footlight-agent-'));
  chmodSync(stateDir, 0o711);
  return stateDir;
}

export interface RuntimeApp {
  /** Folder for the session's directories; the session's user must be able to traverse it. */
  stateDir: string;
  user: SessionUser | null;
  args: string[];
  env?: Record<string, string>;
  options?: Partial<ProcessRuntimeOptions>;
  /** Default: the network of each app is created at the app's start. */
  networks?: NetworkPool;
  /** Default: RUNTIME_SESSION. */
  sessionId?: string;
  spec?: Pick<AppSpec, 'network' | 'systempaths_unconfined'>;
  /** Home of the app; default: a new one in the session's directories. */
  home?: string;
  /** Default: the system clock, and no log. */
  clock?: Clock;
  logger?: Logger;
  /** Default: the app starts at once. */
  ready?: Promise<void>;
  /** Called with the home's path before the app starts. */
  arrange?: (home: string) => void;
}

/** Starts an app directly with the process runtime, in new session directories, without a display and without sound. */
export async function startRuntimeApp(app: RuntimeApp): Promise<{ app: RunningApp; home: string }> {
  const sessionId = app.sessionId ?? RUNTIME_SESSION;
  const dirs = sessionDirs(app.stateDir, sessionId);
  rmSync(dirs.root, { recursive: true, force: true });
  await makeSessionDirs(dirs, app.user);
  app.arrange?.(dirs.home);
  const displaySocket = join(app.stateDir, 'X0');
  writeFileSync(displaySocket, '');
  const options = { isolation: 'root' as const, ownDirs: [], memoryMb: 0, pids: 0, cpus: 0, ...app.options };
  const networks = app.networks ?? new NetworkPool({ clock: systemClock, keep: false, mediaPorts: null });
  const { clock = systemClock, logger = silentLogger() } = app;
  const runtime = new ProcessRuntime(
    options,
    { clock, logger, random: systemRandom },
    options.isolation === 'root' ? networks : null,
  );
  const { args, env = {} } = app;
  const spec = { image: '', args, env, mounts: [], gpu: false, label: 'a test', ...app.spec };
  const running = await runtime.start(spec, {
    ...{ sessionId, instance: sessionId, user: app.user, dirs, enter: [], home: app.home ?? dirs.home },
    overlay: null,
    ...{ display: ':0', displaySocket, pulseServer: null },
    network: await runtime.openNetwork(spec),
    gpu: { renderNode: null, cdiName: null },
    ready: app.ready ?? Promise.resolve(),
  });
  return { app: running, home: dirs.home };
}
