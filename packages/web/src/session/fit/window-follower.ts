/**
 * Fits a session's sizes to the window. Requests are debounced, sent one after another, at most one a second. A refused
 * request is not repeated until something changes. Without a live picture no requests are sent, so a page whose session
 * moved to another window sends none.
 */
import type { Display } from '@footlight/protocol/input';
import {
  type DisplayChange,
  decideFit,
  decideRelease,
  type FitBounds,
  type PictureArea,
  renderFor,
  type Size,
  streamFor,
} from './window-fit.ts';

/** Debounce while a window is resized or a phone is turned. */
const SETTLE_MS = 300;
const REQUEST_INTERVAL_MS = 1_000;

export interface FollowerFacts {
  /** the person wants the app to follow the window */
  following: boolean;
  /** a picture is shown, the service is reachable, and no element of the page changes the window's size */
  live: boolean;
  /** null: not measured */
  area: PictureArea | null;
  bounds: FitBounds | null;
  /** the host's last report; null: no report */
  display: Display | null;
}

interface FollowerDeps {
  /** Sends a request. Rejects if the host refuses it. */
  request(change: DisplayChange): Promise<unknown>;
  nowMs(): number;
  /** @returns a function that cancels the work */
  after(ms: number, work: () => void): () => void;
}

export class WindowFollower {
  readonly #deps: FollowerDeps;
  #facts: FollowerFacts = { following: false, live: false, area: null, bounds: null, display: null };
  /** current sizes: the host's report with the changes that were accepted after it */
  #display: Display | null = null;
  /** size that this page pinned for the picture; null: none */
  #pinned: Size | null = null;
  /** the person turned the fit off, but the sizes are still those of the window */
  #releasing = false;
  #resizable = true;
  #isRequesting = false;
  #nextRequestAtMs = Number.NEGATIVE_INFINITY;
  #refused: string | null = null;
  #stop: (() => void) | null = null;
  #disposed = false;

  constructor(deps: FollowerDeps) {
    this.#deps = deps;
  }

  /** Updates the facts. Unchanged facts have no effect. */
  update(facts: FollowerFacts): void {
    const before = this.#facts;
    this.#facts = facts;
    if (before.display !== facts.display) this.#display = facts.display;
    // While a window of the app has a fixed size, a host refuses a size that it accepts later.
    if (!isSameDisplay(before.display, facts.display)) this.#refused = null;
    if (before.following !== facts.following) this.#releasing = before.following;
    if (before.following !== facts.following || before.live !== facts.live) this.#refused = null;
    const rests = before.area === null || isSameArea(before.area, facts.area);
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
    const waitMs = Math.max(ms, this.#nextRequestAtMs - this.#deps.nowMs());
    this.#stop = this.#deps.after(waitMs, () => {
      this.#stop = null;
      this.#requestChange();
    });
  }

  #requestChange(): void {
    const { live } = this.#facts;
    const display = this.#display;
    if (!live || display === null || this.#isRequesting) return;
    const change = this.#decide(display);
    if (change === null) this.#releasing = false;
    if (change === null || JSON.stringify(change) === this.#refused) return;
    this.#isRequesting = true;
    this.#deps
      .request(change)
      .then(
        () => this.#took(change),
        () => this.#wasRefused(change),
      )
      .finally(() => {
        this.#isRequesting = false;
        this.#nextRequestAtMs = this.#deps.nowMs() + REQUEST_INTERVAL_MS;
        this.#schedule(0);
      });
  }

  #decide(display: Display): DisplayChange | null {
    const { following, area } = this.#facts;
    if (area === null || this.#facts.bounds === null) return null;
    const bounds = { ...this.#facts.bounds, resizable: this.#facts.bounds.resizable && this.#resizable };
    if (!following) return this.#releasing ? decideRelease(bounds, display, this.#pinned) : null;
    // After a reload, a picture with the size that this page would pin counts as pinned by this page.
    const fitting = streamFor(area, renderFor(area, bounds.launch), bounds);
    const { owner, stream_width: width, stream_height: height } = display;
    if (owner === 'pinned' && width === fitting.width && height === fitting.height) this.#pinned = fitting;
    return decideFit(area, bounds, display, this.#pinned);
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
    // The host also reports this change, on another path and possibly later.
    const sizes = { render_width, render_height, stream_width, stream_height };
    this.#display = { ...display, ...sizes, owner };
  }

  #wasRefused(change: DisplayChange): void {
    // The display may still accept its size, even if the picture cannot change.
    if (change.stream_width !== undefined) this.#resizable = false;
    if (change.stream_width === undefined || change.render_width === undefined)
      this.#refused = JSON.stringify(change);
  }
}

function isSameArea(a: PictureArea, b: PictureArea | null): boolean {
  return b !== null && a.width === b.width && a.height === b.height && a.dpr === b.dpr;
}

/** Whether display and picture have the same sizes. */
function isSameDisplay(a: Display | null, b: Display | null): boolean {
  const keys = ['render_width', 'render_height', 'stream_width', 'stream_height'] as const;
  return keys.every((key) => a?.[key] === b?.[key]);
}
