import type { Timer } from '@footlight/platform';
import { cutUtf8, stripControls } from '@footlight/protocol';
import { MAX_WINDOW_TITLE_BYTES } from '@footlight/protocol/input';
import x11, { type WindowAttributes, type XEvent, type XProperty } from 'x11';
import type { XConnection } from './x-connection.ts';
import type { ScreenSize } from './x-screen.ts';

const PROPERTY_NOTIFY = 28;
const CLIENT_MESSAGE = 33;
/** The request comes from a pager, which a window manager obeys. Source: EWMH, _NET_ACTIVE_WINDOW. */
const FROM_PAGER = 2;
/** Events that a window manager selects on the root: SubstructureNotify and SubstructureRedirect. */
const TO_WINDOW_MANAGER = (1 << 19) | (1 << 20);
/** Read of a title, in units of four bytes. */
const TITLE_WORDS = MAX_WINDOW_TITLE_BYTES / 4;
const VIEWABLE = 2;
/** Debounce of events; also the interval of reads while an app keeps changing its windows. */
const READ_PERIOD_MS = 100;
/** Windows read (count); further ones are ignored. */
const MAX_WINDOWS = 32;
/** WM_SIZE_HINTS: flags, then 18 numbers; smallest and largest size are the 5th to 8th. Source: ICCCM, 4.1.2.3. */
const HINT_WORDS = 9;
const HAS_MIN_SIZE = 1 << 4;
const HAS_MAX_SIZE = 1 << 5;

/** A window that the window manager shows. */
export interface ShownWindow {
  id: number;
  width: number;
  height: number;
  /** An ordinary window, which the window manager asks to fill the display; not a dialog, splash or menu. */
  isMain: boolean;
  /** The only size that its hints allow; null: several. */
  fixed: ScreenSize | null;
}

/** A shown window, as people choose among several. */
export interface NamedWindow extends ShownWindow {
  /** One line of at most 128 bytes without control characters; "" = it has none. */
  title: string;
  /** Whether the window manager gave it the keyboard. */
  active: boolean;
}

/**
 * Follows the windows that the window manager shows, and switches between them. Has its own connection, because event masks belong to a
 * connection and others select events on the same windows. Without a window manager (_NET_CLIENT_LIST) no window is
 * shown.
 *
 * resting → (an event) → waiting for READ_PERIOD_MS → reading → resting. Owner: SessionWindows. close() frees the timer
 * and the connection, and no change follows.
 */
export class XWindows {
  readonly #x: XConnection;
  readonly #atoms: Readonly<Record<AtomName, number>>;
  readonly #onChange: (windows: readonly NamedWindow[]) => void;
  readonly #followed = new Set<number>();
  #timer: Timer | null = null;
  #isReading = false;
  #closed = false;
  #last = '';

  private constructor(
    x: XConnection,
    atoms: Record<AtomName, number>,
    onChange: (windows: readonly NamedWindow[]) => void,
  ) {
    this.#x = x;
    this.#atoms = atoms;
    this.#onChange = onChange;
    x.client.on('event', (event) => this.#handle(event));
    x.client.ChangeWindowAttributes(x.root, { eventMask: x11.eventMask.PropertyChange });
    this.#readSoon();
  }

  /** @param x owned and closed by this object */
  static async open(x: XConnection, onChange: (windows: readonly NamedWindow[]) => void): Promise<XWindows> {
    const atoms = await Promise.all(ATOMS.map(async (name) => [name, await x.atom(name)] as const));
    return new XWindows(x, Object.fromEntries(atoms) as Record<AtomName, number>, onChange);
  }

  /** Raises and focuses a window. No effect on one that is not shown. */
  use(id: number): void {
    if (this.#closed || !this.#followed.has(id)) return;
    const event = Buffer.alloc(32);
    event.writeUInt8(CLIENT_MESSAGE, 0);
    event.writeUInt8(32, 1);
    event.writeUInt32LE(id, 4);
    event.writeUInt32LE(this.#atoms._NET_ACTIVE_WINDOW, 8);
    event.writeUInt32LE(FROM_PAGER, 12);
    this.#x.client.SendEvent(this.#x.root, false, TO_WINDOW_MANAGER, event);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#x.close();
  }

  #handle(event: XEvent): void {
    // Toolkits change other properties with every key, such as the time of the last one.
    const isOther = event.type === PROPERTY_NOTIFY && !Object.values(this.#atoms).includes(event.atom ?? 0);
    if (!isOther) this.#readSoon();
  }

  #readSoon(): void {
    if (this.#closed || this.#timer) return;
    this.#timer = this.#x.clock.setTimeout(() => {
      this.#timer = null;
      if (this.#isReading) this.#readSoon();
      else void this.#read();
    }, READ_PERIOD_MS);
  }

  /** Never throws: others report a display without an answer. */
  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      const shown = await this.#shown();
      const text = JSON.stringify(shown);
      if (text !== this.#last && !this.#closed) {
        this.#last = text;
        this.#onChange(shown);
      }
    } catch {
      // The next event causes another read.
    } finally {
      this.#isReading = false;
    }
  }

  async #shown(): Promise<NamedWindow[]> {
    const [active] = words(await this.#property(this.#x.root, this.#atoms._NET_ACTIVE_WINDOW, 1));
    const list = words(await this.#property(this.#x.root, this.#atoms._NET_CLIENT_LIST, MAX_WINDOWS));
    for (const id of this.#followed) if (!list.includes(id)) this.#followed.delete(id);
    for (const id of list) {
      if (this.#followed.has(id)) continue;
      this.#followed.add(id);
      const { StructureNotify, PropertyChange } = x11.eventMask;
      this.#x.client.ChangeWindowAttributes(id, { eventMask: StructureNotify | PropertyChange });
    }
    // A window that closed in the meantime is not shown.
    const shown = await Promise.all(list.map((id) => this.#window(id, id === active).catch(() => null)));
    return shown.filter((window) => window !== null);
  }

  async #window(id: number, active: boolean): Promise<NamedWindow | null> {
    const { client } = this.#x;
    const [attributes, geometry, hints, types, owner, name, oldName] = await Promise.all([
      this.#x.request<WindowAttributes>((callback) => client.GetWindowAttributes(id, callback)),
      this.#x.request<ScreenSize>((callback) => client.GetGeometry(id, callback)),
      this.#property(id, this.#atoms.WM_NORMAL_HINTS, HINT_WORDS),
      this.#property(id, this.#atoms._NET_WM_WINDOW_TYPE, MAX_WINDOWS),
      this.#property(id, this.#atoms.WM_TRANSIENT_FOR, 1),
      this.#property(id, this.#atoms._NET_WM_NAME, TITLE_WORDS),
      this.#property(id, this.#atoms.WM_NAME, TITLE_WORDS),
    ]);
    if (attributes.mapState !== VIEWABLE || attributes.overrideRedirect) return null;
    // The first known type counts (EWMH); a window without one is ordinary unless it is transient.
    const [type = null] = words(types);
    const isMain = type === null ? owner.type === 0 : type === this.#atoms._NET_WM_WINDOW_TYPE_NORMAL;
    const { width, height } = geometry;
    const title = titleOf(name.type === 0 ? oldName.data.toString('latin1') : name.data.toString('utf8'));
    return { id, width, height, isMain, fixed: fixedSize(words(hints)), title, active };
  }

  #property(window: number, name: number, length: number): Promise<XProperty> {
    return this.#x.request((callback) => this.#x.client.GetProperty(0, window, name, 0, 0, length, callback));
  }
}

const ATOMS = [
  '_NET_ACTIVE_WINDOW',
  '_NET_CLIENT_LIST',
  '_NET_WM_NAME',
  '_NET_WM_WINDOW_TYPE',
  '_NET_WM_WINDOW_TYPE_NORMAL',
  'WM_NAME',
  'WM_NORMAL_HINTS',
  'WM_TRANSIENT_FOR',
] as const;
type AtomName = (typeof ATOMS)[number];

/** A property may end within a character, which is left out. */
function titleOf(text: string): string {
  const line = stripControls(text.replace(/\ufffd+$/, '').replace(/\s+/g, ' ')).trim();
  return cutUtf8(line, MAX_WINDOW_TITLE_BYTES);
}

/** Properties of format 32. */
function words({ data }: Pick<XProperty, 'data'>): number[] {
  const count = Math.floor(data.length / 4);
  return Array.from({ length: count }, (_, index) => data.readUInt32LE(4 * index));
}

function fixedSize(hints: readonly number[]): ScreenSize | null {
  const [flags = 0, , , , , minWidth = 0, minHeight = 0, width = 0, height = 0] = hints;
  if ((flags & HAS_MIN_SIZE) === 0 || (flags & HAS_MAX_SIZE) === 0) return null;
  return minWidth === width && minHeight === height ? { width, height } : null;
}
