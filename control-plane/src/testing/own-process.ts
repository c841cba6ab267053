import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../../scripts/control-plane', import.meta.url));
const FAST_TIME = pathToFileURL(fileURLToPath(new URL('./fast-time.mjs', import.meta.url))).href;
const START_LIMIT_MS = 40_000;

/** The service as it is installed, in a process of its own that a test may stop, starve and kill. */
export interface OwnProcess {
  readonly pid: number;
  /** Address of the plain listener. */
  readonly url: string;
  readonly ended: boolean;
  signal(signal: NodeJS.Signals): void;
  /** Ends it and waits until it is gone. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/**
 * Starts the built service with its data in the given folder, TLS off, on a port of its own.
 * @param options speed: how many times as fast its deadlines and ages pass; through: a command that becomes the service
 * @throws with its log when it does not come up
 */
export async function startOwnProcess(
  folder: string,
  {
    env = {},
    speed = 1,
    through = [],
  }: { env?: Record<string, string>; speed?: number; through?: readonly string[] } = {},
): Promise<OwnProcess> {
  const [command = PROGRAM, ...words] = [...through, PROGRAM];
  const child = spawn(command, words, {
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      SERVICE_DATA_DIR: folder,
      SERVICE_SETUP_TOKEN_PATH: join(folder, 'setup-token'),
      SERVICE_TLS: 'off',
      LISTEN_ADDR: '127.0.0.1:0',
      SERVICE_CONNECTIONS_PER_ADDRESS: '0',
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
    found = /control plane: (http:\/\/127\.0\.0\.1:\d+)/.exec(log);
  }
  return {
    pid: child.pid as number,
    url: found[1] as string,
    get ended() {
      return hasEnded();
    },
    signal: (signal) => void child.kill(signal),
    async end(signal) {
      if (hasEnded()) return;
      const gone = once(child, 'exit');
      child.kill(signal);
      await gone;
    },
  };
}
