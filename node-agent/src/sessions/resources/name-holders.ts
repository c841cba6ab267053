import { readdir, readlink } from 'node:fs/promises';
import type { Logger } from '@footlight/platform';
import { type Clock, errorText, type Timer, within } from '@footlight/platform';
import { DISPLAY_NUMBERS, SOCKET_DIR } from '../../display/display-number.ts';
import { isHeldByAgent, listNamedSockets, type NamedSocket } from '../../linux/unix-names.ts';
import { listProcesses, readProcess, SESSION_VARIABLE, startVariable } from '../../runtime/proc-table.ts';

/**
 * Interval of the searches. Each search reads all sockets of the host. A host without free display names refuses
 * launches for at most this time.
 */
const SEARCH_PERIOD_MS = 5_000;
/** Longest time that a launch waits for the end of a session whose app has bound all names. */
const END_LIMIT_MS = 5_000;
/** Largest number of descriptors read in one search. */
const MAX_DESCRIPTORS = 100_000;
/** Largest number of parent processes that are checked to find a process's session. */
const MAX_ANCESTORS = 64;

/** A session whose app may have bound names. */
interface NameHolder {
  readonly id: string;
  /** null: the session runs as the agent's user. */
  readonly uid: number | null;
  readonly isEnding: boolean;
  readonly ended: Promise<void>;
  /** Ends the session, because its app has bound the abstract names of these displays. */
  endNameHolder(numbers: readonly number[]): void;
}

/**
 * Sockets that are bound to the abstract name of a session display, except the sockets of this process.
 * @returns display number → socket
 */
function takenNames(sockets: readonly NamedSocket[]): Map<number, NamedSocket> {
  const taken = new Map<number, NamedSocket>();
  for (const socket of sockets) {
    if (isHeldByAgent(socket.inode)) continue;
    const number = displayOf(socket.name);
    if (number !== null) taken.set(number, socket);
  }
  return taken;
}

function displayOf(name: string): number | null {
  const prefix = `\0${SOCKET_DIR}/X`;
  if (!name.startsWith(prefix)) return null;
  const digits = name.slice(prefix.length);
  return /^\d{1,4}$/.test(digits) && Number(digits) < DISPLAY_NUMBERS ? Number(digits) : null;
}

/**
 * Ends sessions whose apps have bound abstract names of displays. Such an app could receive the connections of a later
 * display's clients. By binding all names, it could block every launch.
 *
 * Searches periodically while sessions exist, and when a launch finds no free number.
 */
export class NameHolders {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #sessions: () => Iterable<NameHolder>;
  readonly #list: typeof listNamedSockets;
  #timer: Timer | null = null;
  #searching: Promise<void> | null = null;

  constructor(deps: {
    clock: Clock;
    logger: Logger;
    sessions: () => Iterable<NameHolder>;
    list?: typeof listNamedSockets;
  }) {
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#sessions = deps.sessions;
    this.#list = deps.list ?? listNamedSockets;
  }

  /** Starts to search every five seconds. */
  watch(): void {
    this.#timer ??= this.#clock.setInterval(() => void this.search(), SEARCH_PERIOD_MS);
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Ends every session whose app has bound a name, and waits up to 5 s for the ends. Never throws. */
  search(): Promise<void> {
    this.#searching ??= this.#search().finally(() => {
      this.#searching = null;
    });
    return this.#searching;
  }

  async #search(): Promise<void> {
    const live = [...this.#sessions()].filter(({ isEnding }) => !isEnding);
    if (live.length === 0) return;
    try {
      const held = await this.#heldBy(live, takenNames(await this.#list()));
      for (const [session, numbers] of held) {
        this.#logger.warn({ session_id: session.id, displays: numbers.length }, 'session.display_name_taken');
        session.endNameHolder(numbers);
      }
      const ended = Promise.all([...held.keys()].map((session) => session.ended));
      await within(this.#clock, END_LIMIT_MS, ended, null);
    } catch (error) {
      this.#logger.warn({ error: errorText(error) }, 'display_names.not_listed');
    }
  }

  async #heldBy(
    live: readonly NameHolder[],
    taken: ReadonlyMap<number, NamedSocket>,
  ): Promise<Map<NameHolder, number[]>> {
    const held = new Map<NameHolder, number[]>();
    if (taken.size === 0) return held;
    const byUid = new Map(live.flatMap((session) => (session.uid === null ? [] : [[session.uid, session]])));
    // Sessions that run as the agent's user are identified by the processes that own the sockets.
    const shared = live.filter(({ uid }) => uid === null);
    const byInode = shared.length === 0 ? new Map() : await sessionsByInode(shared, taken);
    for (const [number, { uid, inode }] of taken) {
      const session = (uid === null ? undefined : byUid.get(uid)) ?? byInode.get(inode);
      if (session) held.set(session, [...(held.get(session) ?? []), number]);
    }
    return held;
  }
}

async function sessionsByInode(
  sessions: readonly NameHolder[],
  taken: ReadonlyMap<number, NamedSocket>,
): Promise<Map<number, NameHolder>> {
  const byId = new Map(sessions.map((session) => [session.id, session]));
  const wanted = new Map([...taken.values()].map(({ inode }) => [`socket:[${inode}]`, inode]));
  const found = new Map<number, NameHolder>();
  let left = MAX_DESCRIPTORS;
  for (const { pid } of listProcesses()) {
    const session = byId.get(sessionOf(pid) ?? '');
    if (!session || pid === process.pid) continue;
    const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
    for (const fd of descriptors) {
      if (left-- <= 0 || found.size === wanted.size) return found;
      const inode = wanted.get(await readlink(`/proc/${pid}/fd/${fd}`).catch(() => ''));
      if (inode !== undefined) found.set(inode, session);
    }
  }
  return found;
}

/** The session of a process, found in its environment or in that of a parent process; null: unknown. */
function sessionOf(pid: number): string | null {
  let at = pid;
  for (let steps = 0; at > 1 && steps < MAX_ANCESTORS; steps++) {
    const id = startVariable(at, SESSION_VARIABLE);
    if (id !== null) return id;
    at = readProcess(at)?.ppid ?? 0;
  }
  return null;
}
