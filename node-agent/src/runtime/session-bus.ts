import { existsSync } from 'node:fs';
import { type Clock, type Random, within } from '@footlight/platform';
import { withPatience } from '../patience.ts';
import { hostProgram, PATH } from './confinement/command-line.ts';
import { type Child, type ChildOptions, killUntilGone, sendSignal } from './programs/child.ts';

const START_LIMIT_MS = withPatience(5_000);
/**
 * Longest directory of a bus's socket. A longer path leaves too few of the 107 bytes that a socket's path may have.
 * Source: unix(7).
 */
const LONGEST_DIR = 80;
/** An app of the same session must not be able to guess the name of another app's bus. */
const NAME_BYTES = 8;

/** The D-Bus session bus of an app. Owner: the app. */
export interface SessionBus {
  readonly pid: number;
  /** Ends the bus, but not the programs that it activated. */
  stop(): Promise<void>;
}

/**
 * A new address for a bus.
 * @param dir directory for the bus's socket
 * @returns null: dbus-daemon is not installed
 */
export function newBusAddress(dir: string, random: Random): string | null {
  if (!existsSync(hostProgram('dbus-daemon'))) return null;
  return `unix:path=${dir.length < LONGEST_DIR ? dir : '/tmp'}/bus-${random.bytes(NAME_BYTES).toString('hex')}`;
}

/** Environment variables with which programs find the bus at this address. */
export function busVariables(address: string | null): Record<string, string> {
  return address === null ? {} : { DBUS_SESSION_BUS_ADDRESS: address };
}

/**
 * Starts a bus and waits until it listens. The output of the bus and of its services is discarded.
 * @param address from newBusAddress()
 * @param start starts dbus-daemon as the session's user, with the app's environment
 * @returns null: there is no address, or the bus does not start
 */
export async function startSessionBus(
  address: string | null,
  clock: Clock,
  start: (argv: readonly string[], options: ChildOptions) => Promise<{ child: Child; pid: number }>,
): Promise<SessionBus | null> {
  if (address === null) return null;
  let resolveListening: (listens: true) => void = () => undefined;
  const listening = new Promise<true>((resolve) => {
    resolveListening = resolve;
  });
  const argv = [
    ...[hostProgram('dbus-daemon'), '--session', '--nofork', '--nopidfile', '--nosyslog'],
    ...[`--address=${address}`, '--print-address=3'],
  ];
  // The bus writes its address when it listens.
  const onReport = () => resolveListening(true);
  // Errors are ignored, because an app also works without a bus.
  const started = await start(argv, { env: { PATH }, cwd: '/', onReport }).catch(() => null);
  if (started === null) return null;
  const { child, pid } = started;
  const ended = child.exited.then(() => false as const);
  const listens = await within(clock, START_LIMIT_MS, Promise.race([listening, ended]), false);
  const stop = async () => {
    const kill = () => {
      // The bus itself is killed, because in a sandbox the child is only the program that started the bus.
      if (child.alive) sendSignal(pid, 'SIGKILL');
      child.signal('SIGKILL');
      return !child.alive;
    };
    await killUntilGone(clock, kill, child.exited);
  };
  if (listens) return { pid, stop };
  await stop();
  return null;
}
