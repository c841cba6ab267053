import type { Timer } from '@footlight/platform';
import x11, { type WindowAttributes, type XDamage, type XEvent, type XProperty } from 'x11';
import type { XConnection } from './x-connection.ts';

const DESTROY_NOTIFY = 17;
const MAP_NOTIFY = 19;
const VIEWABLE = 2;
const INPUT_OUTPUT = 1;
/**
 * Time after a window is mapped. Damage within this time is ignored, because the server paints the window's background.
 */
const BACKGROUND_MS = 50;
/**
 * Interval at which the pictures of windows without damage are read. The person already sees the picture, so the report
 * may be 0.1 s late.
 */
const POLL_MS = 100;
/** Number of rows that are read at a time when searching for a second colour. */
const BAND_ROWS = 64;
/** Largest number of reads of a window's picture; later drawing is detected by damage events. */
const MAX_READS = 4;
/** Largest number of observed windows. */
const MAX_CANDIDATES = 32;
/**
 * Smallest side of an observed window in pixels. Smaller windows are helpers of toolkits, which are mapped but never
 * visible.
 */
const MIN_SIDE = 16;
const ZPIXMAP = 2;
const ALL_PLANES = 0xffffffff;
/** Levels of the window tree that are searched: window managers put apps' windows one or two levels below the root. */
const DEPTH = 2;

interface Candidate {
  window: number;
  damage: number;
  sinceMs: number;
  reads: number;
  isReading: boolean;
}

/**
 * Detects the first drawing of an app's window: a mapped window with a name shows more than one colour, or damage is
 * reported after its background was painted. The window manager's own windows have no name and are ignored.
 *
 * A closed window is forgotten at once, because the server may reuse its id for the next client.
 *
 * watching → presented (reported once) or closed. In both end states, timer, listener, damage objects and event masks
 * are freed; the connection belongs to the screen.
 */
export class XPresented {
  readonly #x: XConnection;
  readonly #damage: XDamage;
  readonly #onPresented: () => void;
  readonly #candidates = new Map<number, Candidate>();
  readonly #seen = new Set<number>();
  /** Windows that already existed and belong to another app; they are ignored. */
  readonly #others: Set<number>;
  readonly #timer: Timer;
  readonly #onEvent = (event: XEvent) => this.#handle(event);
  #scanning = false;
  #scanAgain = false;
  #done = false;

  private constructor(x: XConnection, damage: XDamage, onPresented: () => void, others: Set<number>) {
    this.#others = others;
    this.#x = x;
    this.#damage = damage;
    this.#onPresented = onPresented;
    x.client.on('event', this.#onEvent);
    x.client.ChangeWindowAttributes(x.root, { eventMask: x11.eventMask.SubstructureNotify });
    this.#timer = x.clock.setInterval(() => this.#poll(), POLL_MS);
    this.#scan();
  }

  /** @throws when the display has no DAMAGE */
  static async open(x: XConnection, onPresented: () => void): Promise<XPresented> {
    const damage = await x.request<XDamage>((callback) => x.client.require('damage', callback));
    return new XPresented(x, damage, onPresented, new Set());
  }

  /** Like open(), but observes only new windows, because the existing ones belong to another app. */
  static async openForNew(x: XConnection, onPresented: () => void): Promise<XPresented> {
    const damage = await x.request<XDamage>((callback) => x.client.require('damage', callback));
    const standing = new Set<number>();
    await collect(x, x.root, DEPTH, standing);
    return new XPresented(x, damage, onPresented, standing);
  }

  close(): void {
    if (this.#done) return;
    this.#done = true;
    this.#timer.cancel();
    this.#x.client.removeListener('event', this.#onEvent);
    if (this.#x.closed) return;
    for (const { damage } of this.#candidates.values()) this.#damage.Destroy(damage);
    for (const window of [this.#x.root, ...this.#candidates.keys(), ...this.#others])
      this.#x.client.ChangeWindowAttributes(window, { eventMask: 0 });
  }

  #handle(event: XEvent): void {
    if (event.type === MAP_NOTIFY) this.#scan();
    if (event.type === DESTROY_NOTIFY) {
      this.#others.delete(event.wid);
      this.#forget(event.wid);
    }
    if (event.type !== this.#damage.firstEvent) return;
    for (const candidate of this.#candidates.values()) {
      if (candidate.damage !== event.damage) continue;
      this.#damage.Subtract(candidate.damage, 0, 0);
      if (this.#x.clock.monotonicMs() - candidate.sinceMs >= BACKGROUND_MS) this.#finish();
    }
  }

  #scan(): void {
    if (this.#done) return;
    if (this.#scanning) {
      this.#scanAgain = true;
      return;
    }
    this.#scanning = true;
    this.#walk(this.#x.root, DEPTH)
      .catch(() => undefined)
      .finally(() => {
        this.#scanning = false;
        if (!this.#scanAgain) return;
        this.#scanAgain = false;
        this.#scan();
      });
  }

  async #walk(parent: number, levels: number): Promise<void> {
    const tree = await this.#x.request<{ children: number[] }>((callback) =>
      this.#x.client.QueryTree(parent, callback),
    );
    for (const window of tree.children) {
      if (this.#done) return;
      // Errors are ignored: a window that was closed in the meantime is not a candidate.
      await this.#consider(window).catch(() => undefined);
      if (levels > 1) await this.#walk(window, levels - 1).catch(() => undefined);
    }
  }

  async #consider(window: number): Promise<void> {
    if (this.#others.has(window)) return;
    if (this.#seen.has(window) || this.#seen.size >= MAX_CANDIDATES * 8) return;
    if (this.#candidates.size >= MAX_CANDIDATES) return;
    const attributes = await this.#x.request<WindowAttributes>((callback) =>
      this.#x.client.GetWindowAttributes(window, callback),
    );
    if (attributes.mapState !== VIEWABLE || attributes.klass !== INPUT_OUTPUT) return;
    if (!(await this.#namesItself(window))) return;
    if (this.#done || this.#seen.has(window)) return;
    this.#seen.add(window);
    watchEnd(this.#x, window);
    const damage = this.#x.client.AllocID();
    this.#damage.Create(damage, window, this.#damage.ReportLevel.NonEmpty);
    const candidate = { window, damage, sinceMs: this.#x.clock.monotonicMs(), reads: 0, isReading: false };
    this.#candidates.set(window, candidate);
    this.#readPicture(candidate);
  }

  async #namesItself(window: number): Promise<boolean> {
    const { WM_CLASS, WM_NAME } = this.#x.client.atoms;
    for (const name of [WM_CLASS, WM_NAME]) {
      const property = await this.#x.request<XProperty>((callback) =>
        this.#x.client.GetProperty(0, window, name, 0, 0, 16, callback),
      );
      if (property.type !== 0) return true;
    }
    return false;
  }

  #poll(): void {
    // Scans again, because the root gets no event when a window inside a window manager's frame is mapped.
    this.#scan();
    for (const candidate of this.#candidates.values()) this.#readPicture(candidate);
  }

  #forget(window: number): void {
    const candidate = this.#candidates.get(window);
    if (!candidate) return;
    this.#candidates.delete(window);
    // Forgotten as well, because the window may be mapped again under the same id.
    this.#seen.delete(window);
    if (!this.#x.closed) this.#damage.Destroy(candidate.damage);
  }

  /** Reads the window's picture, because only the picture shows what was drawn before the damage object existed. */
  #readPicture(candidate: Candidate): void {
    if (candidate.isReading || candidate.reads >= MAX_READS) return;
    candidate.isReading = true;
    candidate.reads++;
    this.#showsSomething(candidate.window)
      .then((shows) => {
        candidate.isReading = false;
        if (shows) this.#finish();
      })
      .catch(() => this.#forget(candidate.window));
  }

  /** Whether a window shows more than one colour. @throws when the window is closed or not fully on the display */
  async #showsSomething(window: number): Promise<boolean> {
    const { width, height } = await this.#x.request<{ width: number; height: number }>((callback) =>
      this.#x.client.GetGeometry(window, callback),
    );
    if (width < MIN_SIDE || height < MIN_SIDE) return false;
    let first: number | null = null;
    for (let y = 0; y < height && !this.#done; y += BAND_ROWS) {
      const rows = Math.min(BAND_ROWS, height - y);
      const { data } = await this.#x.request<{ data: Buffer }>((callback) =>
        this.#x.client.GetImage(ZPIXMAP, window, 0, y, width, rows, ALL_PLANES, callback),
      );
      for (let at = 0; at + 4 <= data.length; at += 4) {
        const colour = data.readUInt32LE(at) & 0xffffff;
        first ??= colour;
        if (colour !== first) return true;
      }
    }
    return false;
  }

  #finish(): void {
    if (this.#done) return;
    this.close();
    this.#onPresented();
  }
}

/** Subscribes to the end of a window. Must be called before the window's id can be reused. */
function watchEnd(x: XConnection, window: number): void {
  x.client.ChangeWindowAttributes(window, { eventMask: x11.eventMask.StructureNotify });
}

/** Collects all windows down to this number of levels, and subscribes to their ends. */
async function collect(x: XConnection, parent: number, levels: number, into: Set<number>): Promise<void> {
  const tree = await x.request<{ children: number[] }>((callback) => x.client.QueryTree(parent, callback));
  for (const window of tree.children) {
    into.add(window);
    watchEnd(x, window);
    // Errors are ignored: a window that was closed in the meantime has no children.
    if (levels > 1) await collect(x, window, levels - 1, into).catch(() => undefined);
  }
}
