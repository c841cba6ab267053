import { delay } from '../platform/clock.ts';
import { type Child, startChild } from '../runtime/child.ts';
import { asSessionUser, helperEnvironment } from '../runtime/launch-line.ts';
import type { HelperDeps, HelperOptions } from './helper.ts';

const RESTARTS = 3;

export interface WindowManager {
  close(): Promise<void>;
}

/**
 * Runs the kiosk window manager: every app window fills the screen, without a title bar. One that dies is started
 * again, three times at most; the session goes on without it after that.
 */
export async function startWindowManager(
  options: HelperOptions & { display: string },
  deps: HelperDeps,
): Promise<WindowManager> {
  const { display, user, dirs } = options;
  let closing = false;
  let restartsLeft = RESTARTS;
  let child: Child;
  const start = async (): Promise<void> => {
    child = await startChild(
      asSessionUser(user, ['matchbox-window-manager', '-use_titlebar', 'no', '-use_desktop_mode', 'plain']),
      {
        env: { ...helperEnvironment(deps.env, options.sessionId, dirs), DISPLAY: display },
        cwd: '/',
      },
    );
    void child.exited.then(() => {
      if (closing || restartsLeft-- <= 0) return;
      return start();
    });
  };
  await start();
  return {
    async close() {
      closing = true;
      child.signal('SIGTERM');
      await Promise.race([child.exited, delay(deps.clock, 200)]);
      child.signal('SIGKILL');
      await child.exited;
    },
  };
}
