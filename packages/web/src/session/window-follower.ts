/**
 * Keeps a session's sizes suited to the window: asks once the window rests, one request at a time and at most one a
 * second, and not again for what was refused until something changes. Nothing is asked while no picture is live, so a
 * page whose session moved to another window keeps still.
 */
import type { Display } from '@footlight/protocol/input';
import {
  type DisplayChange,
  decideFit,
  decideRelease,
  type FitBounds,
  renderFor,
  type Size,
  type Stage,
  streamFor,
} from './window-fit.ts';

/** A window that is being dragged, or turned, has one size in the end. */
const SETTLE_MS = 300;
const BETWEEN_ASKS_MS = 1_000;

export interface FollowerFacts {
  /** the person wants the app to have the window's shape */
  following: boolean;
  /** a picture is shown, the service can be asked, and nothing of the page lies over it that may change the window's size */
  live: boolean;
  /** null: not measured yet */
  stage: Stage | null;
  bounds: FitBounds | null;
  /** what the host said last; null: nothing yet */
  display: Display | null;
}

interface FollowerWorld {
  /** Rejects when it is refused. */
  ask(change: DisplayChange): Promise<unknown>;
  nowMs(): number;
  /** @returns stops it */
  after(ms: number, work: () => void): () => void;
}

export class WindowFollower {
  readonly #world: FollowerWorld;
  #facts: FollowerFacts = { following: false, live: false, stage: null, bounds: null, display: null };
  /** how things stand: what the host said, and what it has taken since */
  #display: Display | null = null;
  /** size of the picture that this page pinned */
  #pinned: Size | null = null;
  /** the person turned it off, and the sizes are still those of the window */
  #releasing = false;
  #resizable = true;
  #asking = false;
  #mayAskAtMs = Number.NEGATIVE_INFINITY;
  #refused: string | null = null;
  #stop: (() => void) | null = null;
  #disposed = false;

  constructor(world: FollowerWorld) {
    this.#world = world;
  }

  /** Hears how things stand; may be told the same again and again. */
  update(facts: FollowerFacts): void {
    const before = this.#facts;
    this.#facts = facts;
    if (before.display !== facts.display) this.#display = facts.display;
    // A host refuses a size while an app's window has only one; after that it takes it.
    if (!isSameDisplay(before.display, facts.display)) this.#refused = null;
    if (before.following !== facts.following) this.#releasing = before.following;
    if (before.following !== facts.following || before.live !== facts.live) this.#refused = null;
    const rests = before.stage === null || isSameStage(before.stage, facts.stage);
    if (!rests) this.#refused = null;
    if (!rests || this.#stop === null) this.#schedule(rests ? 0 : SETTLE_MS);
  }

  dispose(): void {
    this.#disposed = true;
    this.#stop?.();
  }

  #schedule(ms: number): void {
    this.#stop?.();
    if (this.#disposed) return;
    const waitMs = Math.max(ms, this.#mayAskAtMs - this.#world.nowMs());
    this.#stop = this.#world.after(waitMs, () => {
      this.#stop = null;
      this.#act();
    });
  }

  #act(): void {
    const { live } = this.#facts;
    const display = this.#display;
    if (!live || display === null || this.#asking) return;
    const change = this.#decide(display);
    if (change === null) this.#releasing = false;
    if (change === null || JSON.stringify(change) === this.#refused) return;
    this.#asking = true;
    this.#world
      .ask(change)
      .then(
        () => this.#took(change),
        () => this.#wasRefused(change),
      )
      .finally(() => {
        this.#asking = false;
        this.#mayAskAtMs = this.#world.nowMs() + BETWEEN_ASKS_MS;
        this.#schedule(0);
      });
  }

  #decide(display: Display): DisplayChange | null {
    const { following, stage } = this.#facts;
    if (stage === null || this.#facts.bounds === null) return null;
    const bounds = { ...this.#facts.bounds, resizable: this.#facts.bounds.resizable && this.#resizable };
    if (!following) return this.#releasing ? decideRelease(bounds, display, this.#pinned) : null;
    // A page that was loaded again finds the picture pinned as it would pin it: that was its own doing.
    const fitting = streamFor(stage, renderFor(stage, bounds.launch), bounds);
    const { owner, stream_width: width, stream_height: height } = display;
    if (owner === 'pinned' && width === fitting.width && height === fitting.height) this.#pinned = fitting;
    return decideFit(stage, bounds, display, this.#pinned);
  }

  #took(change: DisplayChange): void {
    const { bounds } = this.#facts;
    const display = this.#display;
    if (display === null) return;
    const { render_width = display.render_width, render_height = display.render_height } = change;
    const { stream_width = display.stream_width, stream_height = display.stream_height } = change;
    let { owner } = display;
    if (change.stream_width !== undefined) {
      const isLaunch = stream_width === bounds?.launch.width && stream_height === bounds.launch.height;
      this.#pinned = isLaunch ? null : { width: stream_width, height: stream_height };
      owner = isLaunch ? 'auto' : 'pinned';
    }
    // The host says so too, on another path and perhaps a moment later.
    const sizes = { render_width, render_height, stream_width, stream_height };
    this.#display = { ...display, ...sizes, owner };
  }

  #wasRefused(change: DisplayChange): void {
    // The display may take its size where the picture cannot.
    if (change.stream_width !== undefined) this.#resizable = false;
    if (change.stream_width === undefined || change.render_width === undefined)
      this.#refused = JSON.stringify(change);
  }
}

function isSameStage(a: Stage, b: Stage | null): boolean {
  return b !== null && a.width === b.width && a.height === b.height && a.dpr === b.dpr;
}

/** Whether display and picture have the same sizes. */
function isSameDisplay(a: Display | null, b: Display | null): boolean {
  const keys = ['render_width', 'render_height', 'stream_width', 'stream_height'] as const;
  return keys.every((key) => a?.[key] === b?.[key]);
}
