import type { Clock } from '@footlight/platform';
import type { AppSpec, HomeSpec } from '@footlight/protocol/agent';
import { isHomeVolume } from '../../runtime/container/engine/engine-names.ts';
import type { HomeVolumes } from '../../runtime/container/home-volumes.ts';
import type { SessionUser } from '../../runtime/runtime.ts';
import type { SessionOwnership } from '../resources/quarantine.ts';
import type { UidPool } from '../resources/uid-pool.ts';
import { openOverBase } from './base/home-base.ts';
import type { Overlay } from './base/overlay.ts';
import { closeHome, HomeError, homeBytes, lastOwner, openHome, openVolumeHome } from './home.ts';
import type { HomeLocks } from './home-locks.ts';

/**
 * Time limit for locking a home at a launch, because the session that uses the home may still be ending. After this
 * time, the launch fails because the home is in use.
 */
const HOME_WAIT_MS = 30_000;
/**
 * Time limit for locking a home at a swap. It is shorter than for a launch, because a person is still watching the old
 * app.
 */
const SWAP_HOME_WAIT_MS = 10_000;
/**
 * Time limit for measuring a home. The session's end waits for the result; without a result, the home is reported
 * without a size.
 */
const HOME_SIZE_MS = 400;

export interface UserAndHomesOptions {
  /** Without `home`, the app has an empty home in the session's scratch directory. */
  app: Pick<AppSpec, 'home' | 'image'>;
  homeRoot: string;
  /** Whether this host chose the home root; if not, the control plane did. */
  ownsHomeRoot: boolean;
  stateDir: string;
  /** null: sessions run as the agent's user. */
  uid: number | null;
  groups: number[];
  /** Whether apps see their own mounts, which an overlay needs. */
  ownMounts: boolean;
  /** Directory for mount points, which only the agent can change. */
  mounts: string;
}

/** A home that this session has locked. */
interface HeldHome {
  ref: string;
  /** The app that uses the home. */
  app: Pick<AppSpec, 'home' | 'image'>;
  release: () => void;
  /** The home's directory, which the session's user owns; null: the home is not open. */
  path: string | null;
  /** Groups that are needed to reach the directory. */
  groups: readonly number[];
  /** The home over its base; null: it has no base, or is a copy of it. */
  overlay: Overlay | null;
}

/**
 * User and homes of a session. They are locked before any process starts, and released after the last process. During a
 * swap, a session may have two homes.
 */
export class UserAndHomes {
  readonly #options: UserAndHomesOptions;
  readonly #homes: HomeLocks;
  readonly #volumes: Pick<HomeVolumes, 'make'>;
  readonly #uids: UidPool | null;
  #uid: number | null;
  #current: HeldHome | null = null;
  #next: HeldHome | null = null;
  /** Number of opened homes, used in the names of mount points. */
  #opened = 0;

  constructor(
    options: UserAndHomesOptions,
    homes: HomeLocks,
    uids: UidPool | null,
    volumes: Pick<HomeVolumes, 'make'>,
  ) {
    this.#options = options;
    this.#homes = homes;
    this.#volumes = volumes;
    this.#uids = uids;
    this.#uid = options.uid;
  }

  get uid(): number | null {
    return this.#uid;
  }

  /** The session's user, with the groups that are needed to reach the open homes. */
  get user(): SessionUser | null {
    if (this.#uid === null) return null;
    const ways = [this.#current, this.#next].flatMap((held) => held?.groups ?? []);
    return { uid: this.#uid, gid: this.#uid, groups: [...new Set([...this.#options.groups, ...ways])] };
  }

  /** Directory of the app's home; null: the home is in the scratch directory. */
  get home(): string | null {
    return this.#current?.path ?? null;
  }

  /** What the app sees at this home's path instead of the home's own directory; null: this directory. */
  overlayAt(home: string): string | null {
    const open = [this.#current, this.#next].find((one) => one?.path === home);
    return open?.overlay?.path ?? null;
  }

  /** Name of the open home: its directory or its volume; null: the home is in the scratch directory. */
  get homeRef(): string | null {
    return this.#current?.path == null ? null : this.#current.ref;
  }

  /** All locked homes, including the home of a swap's new app. */
  get homes(): string[] {
    return [this.#current, this.#next].flatMap((held) => (held === null ? [] : [held.ref]));
  }

  /**
   * Waits until no other session uses the home, and locks it.
   * @param onBusy called if the home is locked now
   * @returns false when `ended` was aborted first
   * @throws HomeError when the home was not released within 30 s, or is nested in another session's home
   */
  async take(ended: AbortSignal, onBusy: () => void): Promise<boolean> {
    const { app } = this.#options;
    const ref = app.home?.ref;
    if (ref === undefined) return true;
    this.#refuseNested(ref);
    const free = this.#homes.tryTake(ref);
    if (free) {
      this.#current = held(app, ref, free);
      return true;
    }
    onBusy();
    const release = await this.#homes.take(ref, HOME_WAIT_MS, ended);
    if (release) this.#current = held(app, ref, release);
    if (ended.aborted) return false;
    if (!release) throw new HomeError('the previous session did not release its home within 30 s');
    await this.#takeOwnersUid(ref);
    return !ended.aborted;
  }

  /**
   * Opens the home for the session's user.
   * @param ended its abort ends the copy of a base
   * @throws HomeError; HomeBaseError when the home's base cannot be used
   */
  async open(ended: AbortSignal): Promise<void> {
    if (this.#current) await this.#open(this.#current, ended);
  }

  /**
   * Locks and opens the home of a swap's new app in addition.
   * @param opening called when the home is locked, before it is opened
   * @returns the home's directory
   * @throws HomeError when another session does not release the home within 10 s, when the home cannot be opened, or
   * when the session ends
   */
  async takeNext(
    app: Pick<AppSpec, 'image'> & { home: HomeSpec },
    ended: AbortSignal,
    opening: () => Promise<void>,
  ): Promise<string> {
    const { ref } = app.home;
    this.#refuseNested(ref);
    const release = await this.#homes.take(ref, SWAP_HOME_WAIT_MS, ended);
    if (!release) throw new HomeError('another session did not release the home of the app within 10 s');
    this.#next = held(app, ref, release);
    await opening();
    return this.#open(this.#next, ended);
  }

  /** Called after a successful swap, when the former app has ended: releases the former home. */
  async moveToNext(): Promise<void> {
    const former = this.#current;
    this.#current = this.#next;
    this.#next = null;
    await this.#close(former);
  }

  /** Called after a failed swap, when the new app has ended: releases the new home. */
  async dropNext(): Promise<void> {
    const next = this.#next;
    this.#next = null;
    await this.#close(next);
  }

  /** Size of the home in bytes; null: there is no home, or measuring takes too long. */
  async bytes(clock: Clock): Promise<number | null> {
    const ref = this.home;
    return ref === null ? null : homeBytes(ref, clock, HOME_SIZE_MS).catch(() => null);
  }

  /**
   * Unmounts the homes. Call when no process of the session is left, and before files of its user are removed: these
   * could be files of a mounted home.
   * @throws when a home stays mounted
   */
  async unmount(): Promise<void> {
    for (const home of [this.#current, this.#next]) await home?.overlay?.unmount();
  }

  /**
   * Releases user and homes. Call when no process of the session is left, because a waiting session starts at once.
   * @param keepUid true: other directories may still contain files of the uid; the uid is then released after their
   * removal
   */
  async giveBack(keepUid = false): Promise<void> {
    const homes = [this.#current, this.#next];
    this.#current = null;
    this.#next = null;
    try {
      for (const home of homes) if (home?.path != null) await closeHome(home.path, this.user);
    } finally {
      // The uid is released before the homes, because a session that waits for a home prefers the uid that owns the
      // home's files.
      if (this.#uid !== null && !keepUid) this.#uids?.release(this.#uid);
      for (const home of homes) home?.release();
    }
  }

  /**
   * Refuses nested homes, because an app could create links at paths that this process opens and whose owner it
   * changes.
   */
  #refuseNested(ref: string): void {
    const other = this.#homes.nestedWith(ref);
    if (other !== null) throw new HomeError(`${ref} and ${other}, which is in use, lie in one another`);
  }

  /** @returns the home's directory */
  async #open(home: HeldHome, ended: AbortSignal): Promise<string> {
    const path = await this.#openOwn(home);
    const { base, provider } = home.app.home ?? {};
    if (base === undefined || provider === undefined) return path;
    const { homeRoot, stateDir, mounts, ownMounts } = this.#options;
    this.#opened += 1;
    const noOverlay = ownMounts
      ? 'containers do not see the mounts of the agent'
      : 'the agent is not root, or may not create mount namespaces';
    home.overlay = await openOverBase(
      {
        ...{ base, provider, home: path, homeRoot, stateDir, mounts, user: this.user, number: this.#opened },
        overlayProblem: ownMounts && home.app.image === '' ? null : noOverlay,
      },
      ended,
    );
    return path;
  }

  /** Opens the home's own directory. */
  async #openOwn(home: HeldHome): Promise<string> {
    if (isHomeVolume(home.ref)) {
      home.path = await this.#volumes.make(home.ref);
      await openVolumeHome(home.path, this.user);
      return home.path;
    }
    const { homeRoot, ownsHomeRoot, stateDir } = this.#options;
    const isSessionsGroup = (gid: number) => this.#uids?.contains(gid) ?? false;
    const foreign = ownsHomeRoot ? null : { isSessionsGroup, stateDir };
    home.groups = await openHome(homeRoot, home.ref, this.user, foreign);
    home.path = home.ref;
    return home.path;
  }

  async #close(home: HeldHome | null): Promise<void> {
    if (home === null) return;
    try {
      await home.overlay?.unmount();
      if (home.path !== null) await closeHome(home.path, this.user);
    } finally {
      home.release();
    }
  }

  /** Prefers the uid that already owns the home's files, so that the owner of the files must not be changed. */
  async #takeOwnersUid(ref: string): Promise<void> {
    const owner = await lastOwner(ref);
    if (!this.#uids || this.#uid === null || owner === null || owner === this.#uid) return;
    const taken = this.#uids.take(owner);
    if (taken === null) return;
    this.#uids.release(taken === owner ? this.#uid : taken);
    if (taken === owner) this.#uid = owner;
  }
}

/** A locked home that is not open. */
const held = (app: HeldHome['app'], ref: string, release: () => void): HeldHome => ({
  ...{ app, ref, release },
  ...{ path: null, groups: [], overlay: null },
});

/**
 * Locks user and homes of a session that an earlier agent left.
 * @returns a function that releases the homes, and the user too unless keepUid is true
 */
export function takeUserAndHomes(
  { uid, homes }: Pick<SessionOwnership, 'uid' | 'homes'>,
  uids: UidPool | null,
  locks: HomeLocks,
): (keepUid?: boolean) => void {
  const taken = uid === null ? null : (uids?.take(uid) ?? null);
  const releases = homes.map((ref) => locks.tryTake(ref));
  return (keepUid = false) => {
    if (taken !== null && !keepUid) uids?.release(taken);
    for (const release of releases) release?.();
  };
}
