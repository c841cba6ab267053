import type { Timer } from '@footlight/platform';
import { cutUtf8, stripControls } from '@footlight/protocol';
import { MAX_WINDOW_TITLE_BYTES } from '@footlight/protocol/input';
import x11, { type WindowAttributes, type XEvent, type XProperty } from 'x11';
import type { XConnection } from './x-connection.ts';
import type { ScreenSize } from './x-screen.ts';

const PROPERTY_NOTIFY = 28;
const CLIENT_MESSAGE = 33;
/**
 * Value for "the request comes from a pager"; a window manager obeys such a request. Source: EWMH, _NET_ACTIVE_WINDOW.
 */
const FROM_PAGER = 2;
/**
 * Masks of the events that a window manager selects on the root window: SubstructureNotify and SubstructureRedirect.
 */
const TO_WINDOW_MANAGER = (1 << 19) | (1 << 20);
/** Length of a title that is read, in units of four bytes. */
const TITLE_WORDS = MAX_WINDOW_TITLE_BYTES / 4;
const VIEWABLE = 2;
/** Debounce of events; also the interval of reads while an app keeps changing its windows. */
const READ_PERIOD_MS = 100;
/** Largest number of windows that are read; further windows are ignored. */
const MAX_WINDOWS = 32;
/**
 * WM_SIZE_HINTS has flags and then 17 numbers. The smallest and the largest size are the 5th to the 8th number. Source:
 * ICCCM, 4.1.2.3.
 */
const HINT_WORDS = 9;
const HAS_MIN_SIZE = 1 << 4;
const HAS_MAX_SIZE = 1 << 5;

/** A window that the window manager shows. */
export interface ShownWindow {
  id: number;
  width: number;
  height: number;
  /**
   * Whether the window is an ordinary window, which the window manager is asked to make as large as the display; false
   * for a dialog, splash screen or menu.
   */
  isMain: boolean;
  /** The only size that the window's hints allow; null: several sizes are allowed. */
  fixed: ScreenSize | null;
}

/** A shown window, with the properties that let a person choose between windows. */
export interface NamedWindow extends ShownWindow {
  /** One line of at most 128 bytes without control characters; "": the window has no title. */
  title: string;
  /** Whether the window manager has given this window the keyboard focus. */
  active: boolean;
}

/**
 * Watches the windows that the window manager shows, and switches between them. Uses a separate connection, because
 * event masks belong to a connection, and other parts of the session select events on the same windows. Without a
 * window manager (_NET_CLIENT_LIST), the list of windows is empty.
 *
 * resting → (an event) → waiting for READ_PERIOD_MS → reading → resting. Owner: SessionWindows. close() frees the timer
 * and the connection; onChange is not called afterwards.
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

  /** @param x this object owns the connection and closes it */
  static async open(x: XConnection, onChange: (windows: readonly NamedWindow[]) => void): Promise<XWindows> {
    const atoms = await Promise.all(ATOMS.map(async (name) => [name, await x.atom(name)] as const));
    return new XWindows(x, Object.fromEntries(atoms) as Record<AtomName, number>, onChange);
  }

  /** Raises and focuses a window. Does nothing if the window is not shown. */
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
    // Other properties are ignored, because toolkits change them with every key, for example the time of the last key
    // press.
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

  /** Reads all windows. Never throws: if the display does not answer, other parts of the session report it. */
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
      // Errors are ignored, because the next event causes another read.
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
    // Errors are ignored: a window that was closed in the meantime is not shown.
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
    // The first known type is used (EWMH). A window without a type is an ordinary window, unless it is transient.
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

/** A property may be cut within a character. This incomplete character is removed. */
function titleOf(text: string): string {
  const line = stripControls(text.replace(/\ufffd+$/, '').replace(/\s+/g, ' ')).trim();
  return cutUtf8(line, MAX_WINDOW_TITLE_BYTES);
}

/** Numbers of a property of format 32. */
function words({ data }: Pick<XProperty, 'data'>): number[] {
  const count = Math.floor(data.length / 4);
  return Array.from({ length: count }, (_, index) => data.readUInt32LE(4 * index));
}

function fixedSize(hints: readonly number[]): ScreenSize | null {
  const [flags = 0, , , , , minWidth = 0, minHeight = 0, width = 0, height = 0] = hints;
  if ((flags & HAS_MIN_SIZE) === 0 || (flags & HAS_MAX_SIZE) === 0) return null;
  return minWidth === width && minHeight === height ? { width, height } : null;
}
