import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const FAST_TIME = pathToFileURL(fileURLToPath(new URL('./fast-time.mjs', import.meta.url))).href;
const START_LIMIT_MS = 120_000;

/** Built service in a separate process, which a test may stop, starve and kill. */
export interface OwnProcess {
  readonly pid: number;
  /** URL of the TLS listener if TLS is on, otherwise of the plain listener. */
  readonly url: string;
  readonly ended: boolean;
  /** The last 100,000 characters that the process wrote. */
  readonly log: string;
  signal(signal: NodeJS.Signals): void;
  /** Sends the signal and waits for the exit. @returns the exit code; null when a signal ended it */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/**
 * Sends a request to the API of a service.
 * @returns the body of the answer; null: it has none
 * @throws Error with the answer of a refusal
 */
export async function askOwnProcess(
  service: Pick<OwnProcess, 'url'>,
  method: string,
  path: string,
  {
    bearer,
    body,
    headers = {},
  }: { bearer: string | undefined; body: object | undefined; headers?: Record<string, string> },
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the service really sent.
): Promise<any> {
  const answer = await fetch(`${service.url}${path}`, {
    method,
    headers: {
      ...(bearer && { authorization: `Bearer ${bearer}` }),
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text === '' ? null : JSON.parse(text);
}

/**
 * Starts the built service on a free port with its data in the given folder and TLS off.
 * @param options speed: factor by which the service's clock runs faster; through: a command that starts the service by
 *   exec; checkout: another checkout, for the service of another release
 * @throws Error with the log when the service does not start
 */
export async function startOwnProcess(
  folder: string,
  {
    env = {},
    speed = 1,
    through = [],
    checkout = ROOT,
  }: {
    env?: Record<string, string>;
    speed?: number;
    through?: readonly string[];
    checkout?: string;
  } = {},
): Promise<OwnProcess> {
  const program = join(checkout, 'scripts/control-plane');
  const [command = program, ...words] = [...through, program];
  const child = spawn(command, words, {
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      SERVICE_DATA_DIR: folder,
      SERVICE_SETUP_TOKEN_PATH: join(folder, 'setup-token'),
      SERVICE_TLS: 'off',
      LISTEN_ADDR: '127.0.0.1:0',
      SERVICE_CONNECTIONS_PER_ADDRESS: '0',
      // A backup of a Postgres database needs pg_dump of the server's version.
      SERVICE_BACKUP_KEEP: '0',
      SERVICE_BACKUP_BEFORE_MIGRATION: '0',
      ...(speed !== 1 && { NODE_OPTIONS: `--import ${FAST_TIME}`, FOOTLIGHT_TIME_SPEED: String(speed) }),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      log = `${log}${chunk.toString()}`.slice(-100_000);
    });
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const untilMs = performance.now() + START_LIMIT_MS;
  let found: RegExpExecArray | null = null;
  while (found === null) {
    if (hasEnded() || performance.now() > untilMs) {
      child.kill('SIGKILL');
      throw new Error(`not started: ${log}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
    found = /control plane: (https?:\/\/127\.0\.0\.1:\d+)/.exec(log);
  }
  return {
    pid: child.pid as number,
    url: found[1] as string,
    get ended() {
      return hasEnded();
    },
    get log() {
      return log;
    },
    signal: (signal) => void child.kill(signal),
    async end(signal) {
      if (hasEnded()) return child.exitCode;
      const gone = once(child, 'exit');
      child.kill(signal);
      await gone;
      return child.exitCode;
    },
  };
}
