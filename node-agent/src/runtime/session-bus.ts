import { type Clock, within } from '@footlight/platform';
import { withPatience } from '../patience.ts';
import { hostProgram, PATH } from './confinement/command-line.ts';
import { type Child, type ChildOptions, killUntilGone, sendSignal } from './programs/child.ts';

/** Form of a bus address: a socket path of at most 107 bytes, with parameters. */
const ADDRESS = /^[\x21-\x7e]{1,400}$/;
const START_LIMIT_MS = withPatience(5_000);
/**
 * Longest directory for the bus. A longer path leaves too few of the 107 bytes that a socket's path may have. Source:
 * unix(7).
 */
const LONGEST_DIR = 80;

/** The D-Bus session bus of an app. Owner: the app. */
export interface SessionBus {
  readonly pid: number;
  /** Environment variables with which programs find the bus. */
  readonly variables: Readonly<Record<string, string>>;
  /** Ends the bus, but not the programs that it activated. */
  stop(): Promise<void>;
}

/**
 * Starts a bus and waits until it listens. The output of the bus and of its services is discarded.
 * @param dir directory for the bus's socket
 * @param start starts dbus-daemon as the session's user, with the app's environment
 * @returns null: dbus-daemon is not installed or does not start
 */
export async function startSessionBus(
  dir: string,
  clock: Clock,
  start: (argv: readonly string[], options: ChildOptions) => Promise<{ child: Child; pid: number }>,
): Promise<SessionBus | null> {
  let text = '';
  let resolveAddress: (address: string) => void = () => undefined;
  const listening = new Promise<string>((resolve) => {
    resolveAddress = resolve;
  });
  const argv = [
    ...[hostProgram('dbus-daemon'), '--session', '--nofork', '--nopidfile', '--nosyslog'],
    ...[`--address=unix:dir=${dir.length < LONGEST_DIR ? dir : '/tmp'}`, '--print-address=3'],
  ];
  const onReport = (chunk: Buffer) => {
    text = `${text}${chunk.toString('latin1')}`.slice(0, 1_000);
    if (text.includes('\n')) resolveAddress(text.slice(0, text.indexOf('\n')));
  };
  // Errors are ignored, because an app also works without a bus.
  const started = await start(argv, { env: { PATH }, cwd: '/', onReport }).catch(() => null);
  if (started === null) return null;
  const { child, pid } = started;
  const ended = child.exited.then(() => null);
  const address = await within(clock, START_LIMIT_MS, Promise.race([listening, ended]), null);
  const stop = async () => {
    const kill = () => {
      // The bus itself is killed, because in a sandbox the child is only the program that started the bus.
      if (child.alive) sendSignal(pid, 'SIGKILL');
      child.signal('SIGKILL');
      return !child.alive;
    };
    await killUntilGone(clock, kill, child.exited);
  };
  if (address === null || !ADDRESS.test(address)) {
    await stop();
    return null;
  }
  return { pid, variables: { DBUS_SESSION_BUS_ADDRESS: address }, stop };
}
