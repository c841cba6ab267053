import { TokenBucket } from '@footlight/platform';
import type { XEvent, XFixes, XProperty } from 'x11';
import type { XConnection } from './x-connection.ts';

/** Longest text that is transferred, in bytes of UTF-8. */
export const MAX_CLIPBOARD_BYTES = 65_536;

/**
 * Largest number of answers per second to apps that paste. Without a limit, an app could fill the send queue of this
 * process, because an answer can be 2,700 times as large as its request.
 */
const ANSWERS_PER_SECOND = 50;

const SET_OWNER_MASK = 1;
const SELECTION_CLEAR = 29;
const SELECTION_REQUEST = 30;
const SELECTION_NOTIFY = 31;
const INPUT_ONLY = 2;

const utf8Decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

interface Atoms {
  clipboard: number;
  utf8: number;
  targets: number;
  text: number;
  transfer: number;
}

/**
 * Transfers the CLIPBOARD selection of a display in both directions. A text that an app copies is read and reported. A
 * text that a viewer copies is offered by this process's own window until an app copies. Only text is transferred; it
 * is never logged.
 *
 * reading (an app owns the selection) ⇄ offering (this process owns it). Owner: the desktop of the session, which
 * closes it before the connection. close() destroys the window, which also ends the offer.
 */
export class XClipboard {
  readonly #x: XConnection;
  readonly #fixes: XFixes;
  readonly #atoms: Atoms;
  readonly #window: number;
  readonly #onText: (text: string) => void;
  readonly #onEvent = (event: XEvent) => this.#handle(event);
  readonly #answers: TokenBucket;
  #offered: Buffer | null = null;
  #reading = false;
  #readAgain = false;

  private constructor(x: XConnection, fixes: XFixes, atoms: Atoms, onText: (text: string) => void) {
    this.#x = x;
    this.#fixes = fixes;
    this.#atoms = atoms;
    this.#onText = onText;
    this.#answers = new TokenBucket(ANSWERS_PER_SECOND, ANSWERS_PER_SECOND, x.clock.monotonicMs());
    this.#window = x.client.AllocID();
    x.client.CreateWindow(this.#window, x.root, -1, -1, 1, 1, 0, 0, INPUT_ONLY, 0, {});
    x.client.on('event', this.#onEvent);
    fixes.SelectSelectionInput(this.#window, atoms.clipboard, SET_OWNER_MASK);
  }

  /** Texts that are copied after the promise resolves are reported. @throws when the display has no XFIXES */
  static async open(x: XConnection, onText: (text: string) => void): Promise<XClipboard> {
    const fixes = await x.request<XFixes>((callback) => x.client.require('fixes', callback));
    const [clipboard, utf8, targets, text, transfer] = await Promise.all(
      ['CLIPBOARD', 'UTF8_STRING', 'TARGETS', 'TEXT', 'FOOTLIGHT_CLIPBOARD'].map((name) => x.atom(name)),
    );
    if (!clipboard || !utf8 || !targets || !text || !transfer) throw new Error('the display gives no atoms');
    const opened = new XClipboard(x, fixes, { clipboard, utf8, targets, text, transfer }, onText);
    // The server reads the requests of each client separately. Without this wait, it could process an app's copy first
    // and not announce the text.
    await x.settle();
    return opened;
  }

  /** Offers a text to the display's apps; a text over the limit is ignored. */
  set(text: string): void {
    const bytes = Buffer.from(text, 'utf8');
    if (bytes.length > MAX_CLIPBOARD_BYTES || this.#x.closed) return;
    this.#offered = bytes;
    this.#x.client.SetSelectionOwner(this.#window, this.#atoms.clipboard, 0);
  }

  close(): void {
    this.#x.client.removeListener('event', this.#onEvent);
    if (!this.#x.closed) this.#x.client.DestroyWindow(this.#window);
  }

  #handle(event: XEvent): void {
    if (event.type === this.#fixes.firstEvent) this.#onOwner(event);
    else if (event.type === SELECTION_REQUEST && event.owner === this.#window) {
      if (this.#answers.take(this.#x.clock.monotonicMs())) this.#answer(event);
    } else if (event.type === SELECTION_CLEAR && event.owner === this.#window) this.#offered = null;
    else if (event.type === SELECTION_NOTIFY && event.requestor === this.#window && event.property) {
      this.#readLatest();
    }
  }

  /** One read at a time, because an app may announce texts faster than they are read. */
  #readLatest(): void {
    if (this.#reading) {
      this.#readAgain = true;
      return;
    }
    this.#reading = true;
    this.#read()
      .catch(() => undefined)
      .finally(() => {
        this.#reading = false;
        if (!this.#readAgain) return;
        this.#readAgain = false;
        this.#readLatest();
      });
  }

  #onOwner(event: XEvent): void {
    if (event.selection !== this.#atoms.clipboard || event.owner === this.#window || !event.owner) return;
    const { clipboard, utf8, transfer } = this.#atoms;
    this.#x.client.ConvertSelection(this.#window, clipboard, utf8, transfer, 0);
  }

  async #read(): Promise<void> {
    const { transfer, utf8 } = this.#atoms;
    const property = await this.#x.request<XProperty>((callback) =>
      this.#x.client.GetProperty(1, this.#window, transfer, 0, 0, MAX_CLIPBOARD_BYTES / 4, callback),
    );
    // Another type announces an incremental transfer. Only texts over the limit need one, so it is refused.
    if (property.type !== utf8 || property.bytesAfter > 0) {
      this.#x.client.DeleteProperty(this.#window, transfer);
      return;
    }
    // decode() throws for invalid UTF-8; the text is then ignored.
    this.#onText(utf8Decoder.decode(property.data));
  }

  /** Answers an app that pastes. Source: ICCCM, 2.2. */
  #answer(event: XEvent): void {
    const { targets, utf8, text } = this.#atoms;
    const { STRING, ATOM } = this.#x.client.atoms;
    const requestor = event.requestor ?? 0;
    // Old clients leave the property empty, which means that the target's name is used as the property.
    const property = event.property || event.target || 0;
    let granted = true;
    if (event.target === targets) {
      const list = Buffer.alloc(16);
      for (const [index, atom] of [targets, utf8, text, STRING].entries())
        list.writeUInt32LE(atom, index * 4);
      this.#x.client.ChangeProperty(0, requestor, property, ATOM, 32, list);
    } else if (event.target === utf8 || event.target === text || event.target === STRING) {
      const type = event.target === STRING ? STRING : utf8;
      this.#x.client.ChangeProperty(0, requestor, property, type, 8, this.#offered ?? Buffer.alloc(0));
    } else {
      granted = false;
    }
    const notice = this.#x.client.packEvent({
      type: SELECTION_NOTIFY,
      seq: 0,
      time: event.time ?? 0,
      requestor,
      selection: event.selection ?? 0,
      target: event.target ?? 0,
      property: granted ? property : 0,
    });
    this.#x.client.SendEvent(requestor, false, 0, notice);
  }
}
