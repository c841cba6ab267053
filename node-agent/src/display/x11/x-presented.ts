import type { Timer } from '@footlight/platform';
import x11, { type WindowAttributes, type XDamage, type XEvent, type XProperty } from 'x11';
import type { XConnection } from './x-connection.ts';

const DESTROY_NOTIFY = 17;
const MAP_NOTIFY = 19;
const VIEWABLE = 2;
const INPUT_OUTPUT = 1;
/** Damage reported within this time after mapping is the server painting the window's background. */
const BACKGROUND_MS = 50;
/**
 * Interval of the reads of windows that reported no damage. The person already sees the picture, so the report may be
 * 0.1 s late.
 */
const POLL_MS = 100;
/** Rows read at a time in the search for a second colour. */
const BAND_ROWS = 64;
/** Reads of a window's picture (count); later drawing is seen as damage. */
const MAX_READS = 4;
/** Windows observed (count). */
const MAX_CANDIDATES = 32;
/** Pixels. Smaller windows are helpers of toolkits, which are mapped but never visible. */
const MIN_SIDE = 16;
const ZPIXMAP = 2;
const ALL_PLANES = 0xffffffff;
/** Window managers put apps' windows one or two levels below the root. */
const DEPTH = 2;

interface Candidate {
  window: number;
  damage: number;
  sinceMs: number;
  reads: number;
  isReading: boolean;
}

/**
 * Detects the first drawing of an app's window: a mapped window with a name shows more than one colour, or is drawn
 * into after its background was painted. The window manager's own windows have no name and do not count.
 *
 * A closed window is forgotten at once, because the server may reuse its id for the next client.
 *
 * watching → presented (reported once) or closed. Both free timer, listener, damage objects and event masks; the
 * connection is the screen's.
 */
export class XPresented {
  readonly #x: XConnection;
  readonly #damage: XDamage;
  readonly #onPresented: () => void;
  readonly #candidates = new Map<number, Candidate>();
  readonly #seen = new Set<number>();
  /** Windows of another app that already existed; ignored. */
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

  /** Like open(), but only for new windows; existing ones belong to another app. */
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
      // A window that closed in the meantime is no candidate.
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
    // A window in the window manager's frame is mapped without an event of the root.
    this.#scan();
    for (const candidate of this.#candidates.values()) this.#readPicture(candidate);
  }

  #forget(window: number): void {
    const candidate = this.#candidates.get(window);
    if (!candidate) return;
    this.#candidates.delete(window);
    // It may be mapped again under the same id.
    this.#seen.delete(window);
    if (!this.#x.closed) this.#damage.Destroy(candidate.damage);
  }

  /** Drawing before the damage was watched is visible only in the picture. */
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

  /** Whether a window shows more than one colour. @throws when it is not fully on the display, or closed */
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

/** Subscribes to the end of a window, before its id can be reused. */
function watchEnd(x: XConnection, window: number): void {
  x.client.ChangeWindowAttributes(window, { eventMask: x11.eventMask.StructureNotify });
}

/** All windows down to that depth, with subscriptions to their end. */
async function collect(x: XConnection, parent: number, levels: number, into: Set<number>): Promise<void> {
  const tree = await x.request<{ children: number[] }>((callback) => x.client.QueryTree(parent, callback));
  for (const window of tree.children) {
    into.add(window);
    watchEnd(x, window);
    // A window that closed in the meantime has no children.
    if (levels > 1) await collect(x, window, levels - 1, into).catch(() => undefined);
  }
}
