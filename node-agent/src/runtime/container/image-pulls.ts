import { statfs } from 'node:fs/promises';
import { type Clock, HOUR_MS, MINUTE_MS, type Timer } from '@footlight/platform';
import type { ContainerEngine, ProgressLine } from './engine/engine.ts';
import type { OpenEngine } from './engine/engine-host.ts';

/** Limits of a pull. Source: docs/containers.md, "Pulling". */
const PULL_MS = HOUR_MS;
const SILENCE_MS = 5 * MINUTE_MS;
/** Free disk space that a pull needs at its start, in bytes. */
export const PULL_FREE_BYTES = 10 * 1024 ** 3;
/**
 * Free space below which a running pull is stopped, because a registry can send data endlessly: half of the space that
 * the pull needs at its start, and enough for the host's other programs. Chosen, not measured.
 */
const FLOOR_BYTES = 5 * 1024 ** 3;
const FLOOR_CHECK_MS = 5_000;

/** Whether an image is pinned by digest. Other images are never pulled. */
export function isPinned(image: string): boolean {
  return /^[a-z0-9][\w./:-]{0,400}@sha256:[0-9a-f]{64}$/.test(image);
}

/** A pull failed; the message contains the reason. */
export class PullError extends Error {}

/** Free bytes at a path; null: unknown. */
export type FreeBytes = (path: string) => Promise<number | null>;

export const freeBytesOf: FreeBytes = async (path) => {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch {
    return null;
  }
};

interface Pull {
  percent: number;
  readonly listeners: Set<(percent: number) => void>;
  readonly over: Promise<void>;
}

/**
 * Pulls images by digest. Two sessions that need the same image share one pull. If a session stops waiting, the pull
 * continues, so the next launch finds the image.
 */
export class ImagePulls {
  readonly #open: () => Promise<OpenEngine>;
  readonly #clock: Clock;
  readonly #freeBytes: FreeBytes;
  readonly #pulls = new Map<string, Pull>();
  readonly #closing = new AbortController();

  constructor(deps: { open: () => Promise<OpenEngine>; clock: Clock; freeBytes?: FreeBytes }) {
    this.#open = deps.open;
    this.#clock = deps.clock;
    this.#freeBytes = deps.freeBytes ?? freeBytesOf;
  }

  /**
   * Pulls an image, or joins a running pull of it.
   * @param onPercent called at once and after every change
   * @throws when the pull fails, or `givenUp` aborts
   */
  async wait(image: string, onPercent: (percent: number) => void, givenUp: AbortSignal): Promise<void> {
    const pull = this.#pulls.get(image) ?? this.#begin(image);
    pull.listeners.add(onPercent);
    onPercent(pull.percent);
    let leave: () => void = () => undefined;
    const left = new Promise<never>((_, reject) => {
      leave = () => reject(new PullError('given up'));
      if (givenUp.aborted) leave();
      else givenUp.addEventListener('abort', leave);
    });
    try {
      await Promise.race([pull.over, left]);
    } finally {
      pull.listeners.delete(onPercent);
      givenUp.removeEventListener('abort', leave);
    }
  }

  /** Ends all pulls. */
  close(): void {
    this.#closing.abort(new PullError('the agent is stopping'));
  }

  #begin(image: string): Pull {
    const pull: Pull = {
      percent: 0,
      listeners: new Set(),
      over: this.#run(image, (percent) => {
        pull.percent = percent;
        for (const listener of pull.listeners) listener(percent);
      }).finally(() => this.#pulls.delete(image)),
    };
    // Prevents an unhandled rejection if no session waits for the pull.
    pull.over.catch(() => undefined);
    this.#pulls.set(image, pull);
    return pull;
  }

  async #run(image: string, onPercent: (percent: number) => void): Promise<void> {
    const { engine, facts } = await this.#open();
    await this.#requireRoom(facts.storeDir, PULL_FREE_BYTES);
    await this.guarded(facts.storeDir, (signal, heard) => pullWith(engine, image, signal, heard, onPercent));
    if ((await engine.image(image)) === null)
      throw new PullError(`the engine does not hold ${image} after its pull`);
  }

  /** @throws PullError */
  async #requireRoom(storeDir: string | null, bytes: number): Promise<void> {
    const free = storeDir === null ? null : await this.#freeBytes(storeDir);
    if (free !== null && free < bytes) throw noRoom(storeDir ?? '', free, bytes);
  }

  /**
   * Runs a transfer within the limits of a pull: at most an hour in total, at most five minutes without a byte, and
   * enough free disk space.
   * @throws PullError when a limit ends it
   */
  async guarded(
    storeDir: string | null,
    work: (signal: AbortSignal, heard: () => void) => Promise<void>,
  ): Promise<void> {
    const over = new AbortController();
    const giveUp = (why: string) => over.abort(new PullError(why));
    const stop = () => over.abort(this.#closing.signal.reason);
    if (this.#closing.signal.aborted) stop();
    else this.#closing.signal.addEventListener('abort', stop);
    let silence: Timer | null = null;
    const heard = () => {
      silence?.cancel();
      silence = this.#clock.setTimeout(() => giveUp('no byte came for 300 s'), SILENCE_MS);
    };
    heard();
    const limit = this.#clock.setTimeout(() => giveUp('not done within 3600 s'), PULL_MS);
    const floor = this.#clock.setInterval(async () => {
      const free = storeDir === null ? null : await this.#freeBytes(storeDir);
      if (free !== null && free < FLOOR_BYTES) over.abort(noRoom(storeDir ?? '', free, FLOOR_BYTES));
    }, FLOOR_CHECK_MS);
    try {
      await work(over.signal, heard);
    } finally {
      for (const timer of [silence as Timer | null, limit, floor]) timer?.cancel();
      this.#closing.signal.removeEventListener('abort', stop);
    }
  }
}

function noRoom(path: string, free: number, needed: number): PullError {
  const gib = (bytes: number) => (bytes / 1024 ** 3).toFixed(1);
  return new PullError(`${path} has ${gib(free)} GiB free, and ${gib(needed)} GiB are needed`);
}

async function pullWith(
  engine: ContainerEngine,
  image: string,
  signal: AbortSignal,
  heard: () => void,
  onPercent: (percent: number) => void,
): Promise<void> {
  const progress = new PullProgress();
  await engine.pull(image, signal, (line) => {
    const { percent, moved } = progress.take(line);
    if (moved) heard();
    if (percent !== null) onPercent(percent);
  });
}

/** Largest number of layers whose progress is tracked; an image has at most 127. */
const MAX_LAYERS = 512;

/** Progress of a pull over all known layers. It never decreases, and stays below 100 until the end. */
export class PullProgress {
  readonly #layers = new Map<string, { current: number; total: number }>();
  #percent = 0;

  /** @returns percent: the new percentage, or null if unchanged; moved: whether bytes arrived */
  take({ id, status, progressDetail }: ProgressLine): { percent: number | null; moved: boolean } {
    const key = typeof id === 'string' ? id : '';
    const known = this.#layers.get(key);
    const total = bytesOf(progressDetail?.total) ?? known?.total ?? 0;
    const isDone = /complete|exists/i.test(typeof status === 'string' ? status : '');
    const current = isDone ? total : (bytesOf(progressDetail?.current) ?? known?.current ?? 0);
    const moved = current !== known?.current || isDone;
    if (key === '' || total === 0) return { percent: null, moved };
    if (known !== undefined || this.#layers.size < MAX_LAYERS)
      this.#layers.set(key, { current: Math.min(current, total), total });
    let done = 0;
    let all = 0;
    for (const layer of this.#layers.values()) {
      done += layer.current;
      all += layer.total;
    }
    const percent = Math.min(99, Math.floor((100 * done) / all));
    if (percent <= this.#percent) return { percent: null, moved };
    this.#percent = percent;
    return { percent, moved };
  }
}

/** Ignores implausible sizes, so that the sum over all layers stays a safe integer. */
function bytesOf(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : null;
}
