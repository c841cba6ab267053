import type { HomeSpec } from '@footlight/protocol/agent';
import type { Clock } from '../platform/clock.ts';
import type { SessionUser } from '../runtime/runtime.ts';
import { closeHome, HomeError, homeBytes, lastOwner, openHome } from './home.ts';
import type { HomeLocks } from './home-locks.ts';
import type { UidPool } from './uid-pool.ts';

const HOME_WAIT_MS = 30_000;
const HOME_SIZE_MS = 400;

export interface TenancyOptions {
  /** undefined = the app has an empty home in the session's scratch directory. */
  home: HomeSpec | undefined;
  homeRoot: string;
  /** null = sessions share the agent's user. */
  uid: number | null;
  groups: number[];
}

/**
 * A session's user and home: who it is and where it lives. Taken before anything is started, given back when its
 * last process is gone.
 */
export class Tenancy {
  readonly #options: TenancyOptions;
  readonly #homes: HomeLocks;
  readonly #uids: UidPool | null;
  #uid: number | null;
  #release: (() => void) | null = null;
  #open = false;

  constructor(options: TenancyOptions, homes: HomeLocks, uids: UidPool | null) {
    this.#options = options;
    this.#homes = homes;
    this.#uids = uids;
    this.#uid = options.uid;
  }

  get uid(): number | null {
    return this.#uid;
  }

  get user(): SessionUser | null {
    return this.#uid === null ? null : { uid: this.#uid, gid: this.#uid, groups: this.#options.groups };
  }

  /** The home that the app gets; null = the one in the scratch directory. */
  get home(): string | null {
    return this.#open ? (this.#options.home?.ref ?? null) : null;
  }

  /**
   * Waits until no other session uses the home.
   * @param onBusy called when it has to wait
   * @returns false when `ended` fired first
   * @throws HomeError when it was not released within 30 s
   */
  async take(ended: AbortSignal, onBusy: () => void): Promise<boolean> {
    const ref = this.#options.home?.ref;
    if (ref === undefined) return true;
    this.#release = this.#homes.tryTake(ref);
    if (this.#release) return true;
    onBusy();
    this.#release = await this.#homes.take(ref, HOME_WAIT_MS, ended);
    if (ended.aborted) return false;
    if (!this.#release) throw new HomeError('the previous session did not release its home within 30 s');
    await this.#takeOwnersUid(ref);
    return !ended.aborted;
  }

  /** Opens the home for the session's user. @throws HomeError */
  async open(): Promise<void> {
    const { home, homeRoot } = this.#options;
    if (!home) return;
    await openHome(homeRoot, home.ref, this.user);
    this.#open = true;
  }

  /** Size of the home in bytes; null without one, or when it takes too long to tell. */
  async bytes(clock: Clock): Promise<number | null> {
    const ref = this.home;
    return ref === null ? null : homeBytes(ref, clock, HOME_SIZE_MS).catch(() => null);
  }

  /** Call it when no process of the session is left: the next holder starts at once. */
  async giveBack(): Promise<void> {
    const ref = this.home;
    try {
      if (ref !== null) await closeHome(ref, this.user);
    } finally {
      // The uid before the home: whoever waits for the home wants the uid that owns its files.
      if (this.#uid !== null) this.#uids?.release(this.#uid);
      this.#release?.();
    }
  }

  /** The holder before us had the uid that owns every file of the home; with it nothing has to be changed. */
  async #takeOwnersUid(ref: string): Promise<void> {
    const owner = await lastOwner(ref);
    if (!this.#uids || this.#uid === null || owner === null || owner === this.#uid) return;
    const taken = this.#uids.take(owner);
    if (taken === null) return;
    this.#uids.release(taken === owner ? this.#uid : taken);
    if (taken === owner) this.#uid = owner;
  }
}
