import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { eventually, PATIENCE_MS } from '../stack/program.ts';
import { CHROMIUM, FLAGS } from './chromium.ts';

/** A Chromium whose tabs hide each other, as in normal use. */
export interface TabbedBrowser {
  newPage(): Promise<Page>;
  close(): Promise<void>;
}

/**
 * Starts Chromium with a new empty profile and one window. Playwright keeps every page of its own browsers visible and
 * focused. Therefore this function starts the browser itself, and Playwright only attaches to it, without its defaults.
 */
export async function startTabbedBrowser(
  size: { width: number; height: number },
  flags: readonly string[] = [],
): Promise<TabbedBrowser> {
  const profile = mkdtempSync(path.join(os.tmpdir(), 'footlight-browser-'));
  const words = [
    ...[
      '--headless=new',
      '--remote-debugging-port=0',
      '--ignore-certificate-errors',
      `--user-data-dir=${profile}`,
    ],
    ...[`--window-size=${size.width},${size.height}`, ...FLAGS, ...flags, 'about:blank'],
  ];
  const program = spawn('setpriv', ['--pdeathsig', 'KILL', '--', CHROMIUM, ...words], {
    env: { ...process.env, TMPDIR: profile },
    stdio: 'ignore',
    detached: true,
  });
  const gone = new Promise<void>((resolve) => program.once('exit', () => resolve()));
  const remove = async () => {
    program.kill('SIGTERM');
    await gone;
    // Its other processes still write into the profile for a moment.
    try {
      if (program.pid !== undefined) process.kill(-program.pid, 'SIGKILL');
    } catch {
      // The other processes have already ended.
    }
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  try {
    const portFile = path.join(profile, 'DevToolsActivePort');
    const port = await eventually('Chromium takes debuggers', PATIENCE_MS, () =>
      existsSync(portFile) ? readFileSync(portFile, 'utf8').split('\n')[0] : null,
    );
    const browser = await chromium.connectOverCDP(`http://127.0.0.1:${port}`, {
      isLocal: true,
      noDefaults: true,
    });
    const [context] = browser.contexts();
    if (context === undefined) throw new Error('Chromium has no window');
    return {
      newPage: () => context.newPage(),
      async close() {
        await browser.close();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
