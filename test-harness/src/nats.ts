import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { eventually, freePort, isListening } from './stack/program.ts';

const START_LIMIT_MS = 20_000;

/** A NATS server for one test, on the loopback interface. Debian's package `nats-server`. */
export interface NatsServer {
  /** `host:port` */
  readonly address: string;
  /** Stops the server (SIGSTOP); its connections stay open. Resolves when all threads of the server are stopped. */
  pause(): Promise<void>;
  resume(): void;
  /** Kills the server; its connections break. */
  crash(): Promise<void>;
  /** Starts the server again at the same address. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * @param words additional arguments of nats-server, for example `['--auth', token]`
 * @throws when the server does not listen in time
 */
export async function startNats(words: readonly string[] = []): Promise<NatsServer> {
  const port = await freePort();
  let server: ChildProcess | null = null;

  async function start(): Promise<void> {
    const child = spawn('nats-server', ['--addr', '127.0.0.1', '--port', String(port), ...words], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    server = child;
    let output = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4_000);
    });
    child.once('error', (error) => {
      output += error.message;
    });
    await eventually(`nats-server listens on ${port}`, START_LIMIT_MS, () => {
      if (child.exitCode !== null || child.pid === undefined) throw new Error(output);
      return isListening(port);
    });
  }
  async function end(signal: NodeJS.Signals): Promise<void> {
    const child = server;
    server = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    // A stopped process handles no signal except SIGKILL until SIGCONT.
    child.kill('SIGCONT');
    child.kill(signal);
    await ended;
  }

  await start();
  return {
    address: `127.0.0.1:${port}`,
    async pause() {
      server?.kill('SIGSTOP');
      await eventually('nats-server stands still', START_LIMIT_MS, () => isStopped(server?.pid) || null);
    },
    resume: () => void server?.kill('SIGCONT'),
    crash: () => end('SIGKILL'),
    start,
    stop: () => end('SIGTERM'),
  };
}

/** True if every thread of a process is stopped. The signal stops the threads one after another. */
function isStopped(pid = 0): boolean {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.every((thread) => /\) T /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')));
}
