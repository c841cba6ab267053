/**
 * The part of the npm package x11 that this package uses. Replies arrive in callbacks; ids and keysyms are unsigned
 * numbers.
 */
declare module 'x11' {
  export type Reply<T> = (error: Error | null, value: T) => void;

  export interface XEvent {
    type: number;
    name?: string;
    /** The window that was mapped or configured. */
    wid: number;
    damage?: number;
    owner?: number;
    requestor?: number;
    selection?: number;
    target?: number;
    property?: number;
    /** The property that changed; only in a PropertyNotify. */
    atom?: number;
    time?: number;
    /** The locked modifiers; only in an XkbStateNotify. */
    lockedMods?: number;
    /** Kind of the event of the keyboard extension. */
    xkbType?: number;
    keycode: number;
    /** Modifiers and buttons that are down; only in events of keys and buttons. */
    buttons?: number;
    x: number;
    y: number;
    width: number;
    height: number;
  }

  export interface WindowAttributes {
    mapState: number;
    overrideRedirect: number;
    klass: number;
  }

  export interface XExtension {
    majorOpcode: number;
    firstEvent: number;
  }

  export interface XTest extends XExtension {
    KeyPress: number;
    KeyRelease: number;
    ButtonPress: number;
    ButtonRelease: number;
    MotionNotify: number;
    FakeInput(type: number, detail: number, time: number, window: number, x: number, y: number): void;
  }

  export interface XKeyboard extends XExtension {
    UseCoreKbd: number;
    EventType: { NewKeyboardNotify: number; MapNotify: number; StateNotify: number };
    SelectEvents(
      device: number,
      affected: number,
      clear: number,
      selectAll: number,
      affectMap: number,
      map: number,
      details: { stateNotify: [affected: number, selected: number] },
    ): void;
  }

  export interface CursorImage {
    x: number;
    y: number;
    width: number;
    height: number;
    xhot: number;
    yhot: number;
    cursorSerial: number;
    /** 32-bit little-endian ARGB, premultiplied. */
    cursorImage: Buffer;
  }

  export interface XFixes extends XExtension {
    SelectSelectionInput(window: number, selection: number, mask: number): void;
    SelectCursorInput(window: number, mask: number): void;
    GetCursorImage(callback: Reply<CursorImage>): void;
  }

  export interface XDamage extends XExtension {
    ReportLevel: { RawRectangles: number; DeltaRectangles: number; BoundingBox: number; NonEmpty: number };
    Create(damage: number, drawable: number, level: number): void;
    Destroy(damage: number): void;
    Subtract(damage: number, repair: number, parts: number): void;
  }

  export interface RandrMode {
    width: number;
    height: number;
    dot_clock: number;
    h_sync_start: number;
    h_sync_end: number;
    h_total: number;
    v_sync_start: number;
    v_sync_end: number;
    v_total: number;
    name: string;
  }

  export interface RandrResources {
    config_timestamp: number;
    crtcs: number[];
    outputs: number[];
    modeinfos: (RandrMode & { id: number })[];
  }

  export interface XRandr extends XExtension {
    GetScreenResources(window: number, callback: Reply<RandrResources>): void;
    SetScreenSize(window: number, width: number, height: number, mmWidth: number, mmHeight: number): void;
    CreateMode(window: number, mode: RandrMode, callback: Reply<number>): void;
    AddOutputMode(output: number, mode: number): void;
    /** mode 0 switches the output off; outputs must be empty then. */
    SetCrtcConfig(
      crtc: number,
      time: number,
      configTime: number,
      x: number,
      y: number,
      mode: number,
      rotation: number,
      outputs: number[],
      callback: Reply<{ status: number }>,
    ): void;
  }

  export interface XProperty {
    /** 0: the property does not exist. */
    type: number;
    /** Number of bytes that were not returned, because the request asked for fewer bytes. */
    bytesAfter: number;
    data: Buffer;
  }

  export interface XClient {
    atoms: Record<'ATOM' | 'CARDINAL' | 'STRING' | 'WINDOW' | 'WM_NAME' | 'WM_CLASS' | 'PRIMARY', number>;
    keymap?: unknown;
    on(event: 'event', listener: (event: XEvent) => void): void;
    on(event: 'error', listener: (error: Error) => void): void;
    on(event: 'end', listener: () => void): void;
    removeListener(event: 'event', listener: (event: XEvent) => void): void;
    /**
     * Number of the last request, the send queue, and the readers of replies by request number. They are used for
     * requests that the library lacks.
     */
    seq_num: number;
    pack_stream: { put(request: Buffer): void; submit(withReply?: boolean): void };
    replies: Record<number, [read: (reply: Buffer) => unknown, callback: Reply<never>]>;
    AllocID(): number;
    ReleaseID(id: number): void;
    require(extension: 'xtest', callback: Reply<XTest>): void;
    require(extension: 'xkb', callback: Reply<XKeyboard>): void;
    require(extension: 'fixes', callback: Reply<XFixes>): void;
    require(extension: 'damage', callback: Reply<XDamage>): void;
    require(extension: 'randr', callback: Reply<XRandr>): void;
    CreateWindow(
      id: number,
      parent: number,
      x: number,
      y: number,
      width: number,
      height: number,
      border: number,
      depth: number,
      klass: number,
      visual: number,
      values: Record<string, number>,
    ): void;
    ChangeWindowAttributes(window: number, values: Record<string, number>): void;
    GetWindowAttributes(window: number, callback: Reply<WindowAttributes>): void;
    DestroyWindow(window: number): void;
    MapWindow(window: number): void;
    SetInputFocus(window: number, revertTo: number): void;
    UnmapWindow(window: number): void;
    QueryTree(window: number, callback: Reply<{ root: number; parent: number; children: number[] }>): void;
    QueryPointer(root: number, callback: Reply<{ rootX: number; rootY: number; keyMask: number }>): void;
    InternAtom(onlyIfExists: boolean, name: string, callback: Reply<number>): void;
    ChangeProperty(
      mode: number,
      window: number,
      name: number,
      type: number,
      format: number,
      data: Buffer | string,
    ): void;
    DeleteProperty(window: number, name: number): void;
    GetProperty(
      remove: number,
      window: number,
      name: number,
      type: number,
      offset: number,
      length: number,
      callback: Reply<XProperty>,
    ): void;
    SetSelectionOwner(owner: number, selection: number, time?: number): void;
    GrabServer(): void;
    UngrabServer(): void;
    ConvertSelection(
      requestor: number,
      selection: number,
      target: number,
      property: number,
      time?: number,
    ): void;
    SendEvent(destination: number, propagate: boolean, mask: number, event: Buffer): void;
    /** The reply contains one bit per key; 1: the key is down. */
    QueryKeymap(callback: Reply<Buffer>): void;
    GetKeyboardMapping(first: number, count: number, callback: Reply<number[][]>): void;
    ChangeKeyboardMapping(first: number, perKeycode: number, keysyms: number[]): void;
    GetInputFocus(callback: Reply<unknown>): void;
    GetGeometry(
      drawable: number,
      callback: Reply<{ xPos: number; yPos: number; width: number; height: number; depth: number }>,
    ): void;
    /** format 2: ZPixmap. */
    GetImage(
      format: number,
      drawable: number,
      x: number,
      y: number,
      width: number,
      height: number,
      planeMask: number,
      callback: Reply<{ data: Buffer }>,
    ): void;
    /** Reply 0: granted; 1: another client has grabbed the pointer. */
    GrabPointer(
      window: number,
      ownerEvents: number,
      mask: number,
      pointerMode: number,
      keyboardMode: number,
      confineTo: number,
      cursor: number,
      time: number,
      callback: Reply<number>,
    ): void;
    UngrabPointer(time: number): void;
    packEvent(event: Record<string, unknown>): Buffer;
    CreateGC(id: number, drawable: number, values: Record<string, number>): void;
    ChangeGC(id: number, values: Record<string, number>): void;
    CreatePixmap(id: number, drawable: number, depth: number, width: number, height: number): void;
    CreateCursor(
      id: number,
      source: number,
      mask: number,
      foreground: { R: number; G: number; B: number },
      background: { R: number; G: number; B: number },
      x: number,
      y: number,
    ): void;
    FreePixmap(id: number): void;
    PolyFillRectangle(drawable: number, gc: number, rectangles: number[]): void;
    CopyArea(
      source: number,
      destination: number,
      gc: number,
      sourceX: number,
      sourceY: number,
      x: number,
      y: number,
      width: number,
      height: number,
    ): void;
    close(callback?: () => void): void;
    terminate(): void;
  }

  export interface XScreen {
    root: number;
    root_depth: number;
    pixel_width: number;
    pixel_height: number;
  }

  export interface XDisplay {
    client: XClient;
    screen: XScreen[];
    min_keycode: number;
    max_keycode: number;
  }

  export interface ClientOptions {
    display?: string;
    /** false: use an ordinary socket without descriptor passing. */
    shm?: boolean;
  }

  const x11: {
    eventMask: Record<
      | 'KeyPress'
      | 'KeyRelease'
      | 'ButtonPress'
      | 'ButtonRelease'
      | 'Exposure'
      | 'FocusChange'
      | 'StructureNotify'
      | 'SubstructureNotify'
      | 'PropertyChange',
      number
    >;
    createClient(callback: (error: Error | null, display: XDisplay) => void): XClient;
    createClient(options: ClientOptions, callback: (error: Error | null, display: XDisplay) => void): XClient;
  };
  export default x11;
}
