import { delay, within } from '@footlight/platform';
import { helperEnvironment, withMemoryLimit } from '../runtime/confinement/command-line.ts';
import type { Child } from '../runtime/programs/child.ts';
import { startHelper } from '../runtime/sandbox.ts';
import type { HelperDeps, HelperOptions } from './helper.ts';

/** Memory limit, because apps can set names and icons of any size. */
const WINDOW_MANAGER_BYTES = 256 * 1024 * 1024;
/**
 * Number of restarts, enough for occasional crashes. If an app crashes the window manager more often, the session
 * continues without a window manager.
 */
const RESTARTS = 3;
/** Delay after a failed start. A failed start counts as a restart. */
const RETRY_MS = 1_000;

export interface WindowManager {
  close(): Promise<void>;
}

/**
 * Runs the kiosk window manager: every app window fills the screen without a title bar. After a crash it is restarted,
 * at most three times; then the session continues without a window manager.
 * @throws when the first start fails
 */
export async function startWindowManager(
  options: HelperOptions & { display: string },
  deps: HelperDeps,
  run: typeof startHelper = startHelper,
): Promise<WindowManager> {
  const { display, dirs } = options;
  let closing = false;
  let restartsLeft = RESTARTS;
  let child: Child;
  const start = async (): Promise<void> => {
    child = await run(
      options,
      withMemoryLimit(WINDOW_MANAGER_BYTES, [
        'matchbox-window-manager',
        ...['-use_titlebar', 'no', '-use_desktop_mode', 'plain'],
        // Keyboard shortcuts are disabled. Debian's default shortcuts start programs such as xterm, and an app can
        // configure further shortcuts in its home. A program that the window manager starts runs outside the app's
        // namespaces and limits.
        ...['-kbdconfig', '/dev/null'],
      ]),
      {
        env: { ...helperEnvironment(deps.env, options.sessionId, dirs), DISPLAY: display },
        cwd: '/',
      },
      deps.clock,
    );
    options.confine?.(child.pid);
    void child.exited.then(restart);
  };
  const restart = async (): Promise<void> => {
    while (!closing && restartsLeft-- > 0) {
      try {
        return await start();
      } catch {
        await delay(deps.clock, RETRY_MS);
      }
    }
  };
  await start();
  return {
    async close() {
      closing = true;
      child.signal('SIGTERM');
      await within(deps.clock, 200, child.exited, undefined);
      child.signal('SIGKILL');
      await child.exited;
    },
  };
}
