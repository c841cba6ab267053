import { rmSync } from 'node:fs';
import { systemClock } from '../platform/clock.ts';
import { ProcessRuntime, type ProcessRuntimeOptions } from '../runtime/process.ts';
import type { RunningApp, SessionUser } from '../runtime/runtime.ts';
import { makeSessionDirs, sessionDirs } from '../sessions/record.ts';

export const RUNTIME_SESSION = '0b253cc2-059b-4b22-b34d-5ad7a7949052';

export interface RuntimeApp {
  /** Holds the session's directories; the session's user must be able to enter it. */
  stateDir: string;
  user: SessionUser | null;
  args: string[];
  env?: Record<string, string>;
  options?: Partial<ProcessRuntimeOptions>;
}

/** Starts an app by the process runtime alone, in new session directories: no display, no sound. */
export async function startRuntimeApp(app: RuntimeApp): Promise<{ app: RunningApp; home: string }> {
  const dirs = sessionDirs(app.stateDir, RUNTIME_SESSION);
  rmSync(dirs.root, { recursive: true, force: true });
  await makeSessionDirs(dirs, app.user);
  const options = { isolated: true, memoryMb: 0, pids: 0, cpus: 0, ...app.options };
  const running = await new ProcessRuntime(options, systemClock).start(
    { image: '', args: app.args, env: app.env ?? {}, mounts: [], gpu: false, label: 'a test' },
    {
      sessionId: RUNTIME_SESSION,
      instance: RUNTIME_SESSION,
      user: app.user,
      dirs,
      home: dirs.home,
      display: ':0',
      displaySocket: `${app.stateDir}/X0`,
      pulseServer: null,
    },
  );
  return { app: running, home: dirs.home };
}
