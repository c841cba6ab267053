import type { DisplayRecord } from '../../display/display-number.ts';
import { enterCgroup, makeCgroup, removeSessionCgroups, type SessionCgroup } from '../../runtime/cgroups.ts';
import type { SessionDirs } from '../../runtime/runtime.ts';
import { UserAndHomes } from '../home/user-and-homes.ts';
import type { SessionDeps, SessionPlan } from '../life/session-plan.ts';
import { makeSessionDirs, removeSessionDirs, sessionDirs, sessionsDir, writeRecord } from './record.ts';

/**
 * Limits of a session's helpers and media worker together. The memory limit is the sum of their own limits (worker 3
 * GiB, display 2 GiB, sound server and window manager) and a margin for memory that their own limits do not count.
 */
const HELPER_LIMITS = { memoryBytes: 7 * 1024 ** 3, cpus: 0, pids: 2_048 };

/**
 * Resources of a session on the host, except its processes: user and homes, directories, control groups, and the record
 * that lists these. The record is written before the session's first process starts, so that an agent that starts after
 * a crash finds all resources. release() frees all resources after the last process has ended.
 */
export class SessionResources {
  readonly dirs: SessionDirs;
  readonly userAndHomes: UserAndHomes;
  readonly #sessionId: string;
  readonly #deps: Pick<SessionDeps, 'homes' | 'quarantine' | 'stateDir' | 'sweep' | 'uids' | 'volumes'>;
  #display: DisplayRecord | null = null;
  /** Control group of the helpers; null: it does not exist yet, or this host does not permit it. */
  #helpers: SessionCgroup | null = null;

  constructor(plan: SessionPlan, deps: SessionDeps) {
    const { assign } = plan;
    this.#sessionId = assign.session_id;
    this.#deps = deps;
    this.dirs = sessionDirs(deps.stateDir, assign.session_id);
    this.userAndHomes = new UserAndHomes(
      {
        ...plan,
        app: assign.app,
        stateDir: deps.stateDir,
        ownMounts: deps.ownMounts,
        mounts: this.dirs.mounts,
      },
      deps.homes,
      deps.uids,
      deps.volumes,
    );
  }

  /** Creates the directories. Called when the home is locked, because the home decides the user. */
  async makeDirs(): Promise<void> {
    const { user } = this.userAndHomes;
    if (user !== null) this.#helpers = makeCgroup(`helpers-${this.#sessionId}`, HELPER_LIMITS);
    await makeSessionDirs(this.dirs, user);
  }

  /**
   * Moves a helper or the media worker into the session's control group, so that an app or viewer that exploits one of
   * them cannot exhaust the host's memory, processor time and process ids.
   */
  confine(pid: number): void {
    enterCgroup(this.#helpers?.procsFiles ?? [], pid);
  }

  /** Writes the record with this display. */
  async recordDisplay(display: DisplayRecord): Promise<void> {
    this.#display = display;
    await this.writeRecord();
  }

  async writeRecord(): Promise<void> {
    const [home, next] = this.userAndHomes.homes;
    await writeRecord(this.dirs, {
      session_id: this.#sessionId,
      uid: this.userAndHomes.uid,
      home: home ?? null,
      ...(next === undefined ? {} : { next_home: next }),
      display: this.#display,
    });
  }

  /** Ends the session's remaining processes, and then frees all resources, possibly after this call has returned. */
  async release(): Promise<void> {
    const { uid, homes } = this.userAndHomes;
    await this.#deps.quarantine.release({ sessionId: this.#sessionId, uid, homes }, () => this.#giveBack());
  }

  async #giveBack(): Promise<void> {
    const { uid, homes } = this.userAndHomes;
    let isClean = uid === null;
    try {
      await this.userAndHomes.unmount();
      if (uid !== null) {
        const { stateDir, homes: locks, sweep, uids } = this.#deps;
        const places = () => ({ keep: homes, others: [sessionsDir(stateDir), ...locks.taken] });
        isClean = await sweep.sweep(uid, places, async () => {
          await removeSessionDirs(this.dirs);
          uids?.release(uid);
        });
      }
      removeSessionCgroups(this.#sessionId);
      await removeSessionDirs(this.dirs, !isClean);
    } finally {
      await this.userAndHomes.giveBack(!isClean);
    }
  }
}
