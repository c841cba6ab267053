import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually, freePort } from './stack/program.ts';

const START_LIMIT_MS = 20_000;

/** A TURN server for one test: Debian's package `coturn`. */
export interface TurnServer {
  /** Port for UDP and TCP. */
  readonly port: number;
  /** The log until now. */
  log(): string;
  stop(): Promise<void>;
}

export interface TurnServerOptions {
  /** Address on which the server listens and relays. */
  address: string;
  /** Port for UDP and TCP; absent: a free one. */
  port?: number;
  /** The shared secret of use-auth-secret. */
  secret: string;
  /** Port for TLS over TCP, with PEM files; absent: no TLS. */
  tls?: { port: number; certFile: string; keyFile: string };
  /** Network namespace in which the server runs; absent: that of this process. */
  namespace?: string;
  /** Additional lines of turnserver.conf. */
  lines?: readonly string[];
}

/** @throws when the server does not listen in time */
export async function startTurnServer(options: TurnServerOptions): Promise<TurnServer> {
  const { address, secret, tls, port = await freePort() } = options;
  const directory = mkdtempSync(path.join(tmpdir(), 'footlight-turn-'));
  const file = path.join(directory, 'turnserver.conf');
  const lines = [
    `listening-ip=${address}`,
    `relay-ip=${address}`,
    `listening-port=${port}`,
    'use-auth-secret',
    `static-auth-secret=${secret}`,
    'realm=footlight',
    'no-cli',
    'no-dtls',
    ...(tls === undefined
      ? ['no-tls']
      : [`tls-listening-port=${tls.port}`, `cert=${tls.certFile}`, `pkey=${tls.keyFile}`]),
    `userdb=${path.join(directory, 'users.db')}`,
    `pidfile=${path.join(directory, 'pid')}`,
    'log-file=stdout',
    'simple-log',
    'verbose',
    ...(options.lines ?? []),
  ];
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
  const prefix = options.namespace === undefined ? [] : ['ip', 'netns', 'exec', options.namespace];
  const [program = '', ...words] = [...prefix, 'turnserver', '-c', file];
  const child: ChildProcess = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  child.once('error', (error) => {
    output += error.message;
  });
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await eventually(`turnserver listens on ${port}`, START_LIMIT_MS, () => {
      if (child.exitCode !== null || child.pid === undefined) throw new Error(output);
      // The server opens its UDP socket last.
      return output.includes(`UDP listener opened on: ${address}:${port}`) || null;
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, log: () => output, stop };
}
