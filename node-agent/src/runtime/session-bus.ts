import { type Clock, within } from '@footlight/platform';
import { withPatience } from '../patience.ts';
import { hostProgram, PATH } from './confinement/command-line.ts';
import { type Child, type ChildOptions, killUntilGone, sendSignal } from './programs/child.ts';

/** The address of a bus, a socket path of at most 107 bytes with its parameters. */
const ADDRESS = /^[\x21-\x7e]{1,400}$/;
const START_LIMIT_MS = withPatience(5_000);
/** A path that is longer leaves too little of the 107 bytes of a socket's path. Source: unix(7). */
const LONGEST_DIR = 80;

/** The D-Bus session bus of an app. Owner: the app. */
export interface SessionBus {
  readonly pid: number;
  /** Variables with which programs find it. */
  readonly variables: Readonly<Record<string, string>>;
  /** Ends the bus, not what it activated. */
  stop(): Promise<void>;
}

/**
 * Starts a bus and waits until it listens. Its output and that of its services is discarded.
 * @param dir for its socket
 * @param start starts it as the session's user, with the app's environment
 * @returns null where dbus-daemon is not installed or does not start
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
  // An app can do without a bus.
  const started = await start(argv, { env: { PATH }, cwd: '/', onReport }).catch(() => null);
  if (started === null) return null;
  const { child, pid } = started;
  const ended = child.exited.then(() => null);
  const address = await within(clock, START_LIMIT_MS, Promise.race([listening, ended]), null);
  const stop = async () => {
    const kill = () => {
      // In a sandbox, the child is what started the bus.
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
