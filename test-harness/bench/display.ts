import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { repositoryRoot } from '../src/stack/program.ts';

/** Presses keys on a display from another process and returns the time of each press. */
export interface Injector {
  /** @returns Unix milliseconds of the press */
  key(keycode: number): Promise<number>;
  close(): void;
}

const bench = (file: string) => path.join(repositoryRoot, 'test-harness', 'bench', file);

export function openInjector(display: string, xauthority: string | null): Injector {
  const child = spawn('/usr/bin/python3', [bench('inject.py'), display], {
    env: { ...process.env, ...(xauthority === null ? {} : { XAUTHORITY: xauthority }) },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const waiting: Array<(at: number) => void> = [];
  lines.on('line', (line) => waiting.shift()?.(Number(line)));
  return {
    key: (keycode) =>
      new Promise((resolve) => {
        waiting.push(resolve);
        child.stdin.write(`key ${keycode}\n`);
      }),
    close: () => child.kill(),
  };
}

export interface BareDisplay {
  readonly name: string;
  /** process id of the display server */
  readonly pid: number;
  stop(): Promise<void>;
}

/** Xvfb with only the Diagnostics app, as the reference of a bench. */
export async function startBareDisplay(size: {
  width: number;
  height: number;
  fps: number;
}): Promise<BareDisplay> {
  const server = spawn(
    'Xvfb',
    ['-displayfd', '3', '-screen', '0', `${size.width}x${size.height}x24`, '-nolisten', 'tcp'],
    {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    },
  );
  const channel = server.stdio[3];
  if (channel === null || channel === undefined || !('on' in channel))
    throw new Error('Xvfb gave no display channel');
  const number = await new Promise<string>((resolve, reject) => {
    channel.once('data', (bytes: Buffer) => resolve(bytes.toString().trim()));
    server.once('exit', () => reject(new Error('Xvfb ended')));
  });
  return { name: `:${number}`, pid: server.pid ?? 0, stop: () => end(server) };
}

/**
 * Starts the Diagnostics app on a display, as the reference of a bench.
 * @returns function that stops the app
 */
export function startDiagnostics(display: BareDisplay, fps: number): () => Promise<void> {
  const app = spawn(process.execPath, [path.join(repositoryRoot, 'node-agent', 'dist', 'diagnostics.mjs')], {
    env: { ...process.env, DISPLAY: display.name, FOOTLIGHT_DIAGNOSTICS_FPS: String(fps) },
    stdio: 'ignore',
  });
  return () => end(app);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await gone;
}

/** Display of the session with this app command, read from the app's environment. */
export function displayOfApp(commandLine: string): { display: string; xauthority: string | null } {
  for (const pid of processesRunning(commandLine)) {
    try {
      const environment = Object.fromEntries(
        readFileSync(`/proc/${pid}/environ`, 'utf8')
          .split('\0')
          .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
      );
      if (environment.DISPLAY !== undefined) {
        return { display: environment.DISPLAY, xauthority: environment.XAUTHORITY ?? null };
      }
    } catch {
      // The process ended before it was read.
    }
  }
  throw new Error(`No running app with '${commandLine}' in its command line`);
}

/** Node processes with this text in their command line. */
function processesRunning(pattern: string): string[] {
  const pids: string[] = [];
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      if (words[0] === process.execPath && words.includes(pattern)) pids.push(pid);
    } catch {
      // The process ended before it was read.
    }
  }
  return pids;
}

/** Time from the start of the Diagnostics app on an existing display to its first drawing, in milliseconds. */
export async function firstDrawMs(display: BareDisplay): Promise<number> {
  const watcher = spawn('/usr/bin/python3', [bench('first-draw.py'), display.name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: watcher.stdout });
  const line = () => new Promise<string>((resolve) => lines.once('line', resolve));
  await line();
  const drawn = line();
  const startedAt = Date.now();
  const stopApp = startDiagnostics(display, 60);
  const at = Number(await drawn);
  await stopApp();
  await end(watcher);
  return at - startedAt;
}
