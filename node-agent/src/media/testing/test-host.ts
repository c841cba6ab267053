import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@footlight/platform';
import type { SessionGuests, StreamSpec } from '@footlight/protocol/agent';
import x11, { type XEvent } from 'x11';
import { XConnection } from '../../display/x11/x-connection.ts';
import type { PrepareMessage, WorkerMessage } from '../worker/worker-messages.ts';
import { createMediaWorkerPool, type MediaWorker, type MediaWorkerPool } from '../worker/worker-pool.ts';
import { startTestDisplay, type TestDisplay } from './display.ts';
import { NativeViewer } from './native-viewer.ts';
import { testStream } from './stream.ts';

/** Client id of the first viewer. */
export const ALICE = '22222222-2222-4222-8222-222222222222';
export const BOB = '33333333-3333-4333-8333-333333333333';

/** X event codes. Source: X11 protocol, section 11. */
export const KEY_PRESS = 2;
export const KEY_RELEASE = 3;
export const BUTTON_PRESS = 4;
export const BUTTON_RELEASE = 5;

const LIMIT_MS = 20_000;
/** Worker messages that are recorded. Signals are not in the list, because the viewers record them. */
const KEPT = [
  'prepared',
  'encoding',
  'app_presented',
  'windows',
  'viewer',
  'event',
  'failure',
  'stopped',
  'metrics',
  'display_done',
  'log',
] as const;

type Kept = (typeof KEPT)[number];
type Said<T extends Kept = Kept> = Extract<WorkerMessage, { type: T }>;

/** A window of an app, with the keys and buttons that the window received. */
export interface AppWindow {
  readonly id: number;
  readonly events: XEvent[];
}

/**
 * Environment for tests of the media worker: a display, and workers that stream it. Owner: the test file, which clears
 * the host after each test and closes it at the end.
 */
export class TestHost {
  readonly display: TestDisplay;
  /** An X client of the display, which acts like an app. */
  readonly desktop: XConnection;
  readonly scratch: string;
  readonly size: { width: number; height: number };
  readonly #pool: MediaWorkerPool;
  readonly #sessions: TestSession[] = [];
  readonly #windows: (() => void)[] = [];

  private constructor(
    display: TestDisplay,
    desktop: XConnection,
    size: TestHost['size'],
    env: Record<string, string>,
  ) {
    this.display = display;
    this.desktop = desktop;
    this.size = size;
    this.scratch = mkdtempSync(join(tmpdir(), 'test-host-'));
    this.#pool = createMediaWorkerPool({ clock: systemClock, size: 1, ownIpc: false, env });
  }

  /** @param env environment variables of the workers */
  static async open(size = { width: 320, height: 240 }, env: Record<string, string> = {}): Promise<TestHost> {
    const display = await startTestDisplay(size.width, size.height);
    const desktop = await XConnection.open(display.name, systemClock, () => undefined);
    return new TestHost(display, desktop, size, env);
  }

  /** Creates a session whose worker has received no message yet. */
  async session(): Promise<TestSession> {
    const worker = await this.#pool.acquire();
    await worker.warm;
    const session = new TestSession(this, worker);
    this.#sessions.push(session);
    return session;
  }

  /** Creates a session whose worker streams the display. */
  async startSession(): Promise<TestSession> {
    const session = await this.session();
    await session.start();
    return session;
  }

  /** Opens a window with the display's size and the keyboard focus. */
  async openWindow(): Promise<AppWindow> {
    const { client, root } = this.desktop;
    const id = client.AllocID();
    const { KeyPress, KeyRelease, ButtonPress, ButtonRelease } = x11.eventMask;
    client.CreateWindow(id, root, 0, 0, this.size.width, this.size.height, 0, 0, 1, 0, {
      backgroundPixel: 0x204060,
      eventMask: KeyPress | KeyRelease | ButtonPress | ButtonRelease,
    });
    client.ChangeProperty(0, id, client.atoms.WM_NAME, client.atoms.STRING, 8, 'test');
    client.MapWindow(id);
    client.SetInputFocus(id, 0);
    await this.desktop.settle();
    const events: XEvent[] = [];
    const listener = (event: XEvent) => {
      if (event.type >= KEY_PRESS && event.type <= BUTTON_RELEASE) events.push(event);
    };
    client.on('event', listener);
    this.#windows.push(() => {
      client.removeListener('event', listener);
      client.DestroyWindow(id);
    });
    return { id, events };
  }

  async clear(): Promise<void> {
    for (const close of this.#windows.splice(0)) close();
    await Promise.all(this.#sessions.splice(0).map((session) => session.end()));
  }

  async close(): Promise<void> {
    await this.#pool.close();
    this.desktop.close();
    await this.display.close();
    rmSync(this.scratch, { recursive: true, force: true });
  }
}

/** A session of a test host: its worker, the recorded messages, and its viewers. */
export class TestSession {
  readonly worker: MediaWorker;
  readonly #host: TestHost;
  readonly #said: Said[] = [];
  readonly #viewers: NativeViewer[] = [];

  constructor(host: TestHost, worker: MediaWorker) {
    this.#host = host;
    this.worker = worker;
    for (const type of KEPT) worker.on(type, (message) => this.#said.push(message));
  }

  /**
   * Prepares the worker's session: H.264 in software with the display's size, without sound and without periodic
   * keyframes.
   * @param stream values that replace those defaults
   */
  prepare(stream: Partial<StreamSpec> = {}, over: Partial<Omit<PrepareMessage, 'stream'>> = {}): void {
    const { display, scratch, size } = this.#host;
    this.worker.send({
      type: 'prepare',
      session_id: '11111111-1111-4111-8111-111111111111',
      uid: null,
      gid: null,
      display: display.name,
      xauthority: null,
      pulse_server: null,
      scratch_dir: scratch,
      stream: testStream({ ...size, fps: 30, bitrate_kbps: 1000, playout0_ms: 100, ...stream }),
      encoder: { family: 'openh264', gpu_index: 0, render_node: null },
      settings: { gop: 100_000 },
      media: { addresses: null, ports: null },
      ...over,
    });
  }

  /** Prepares and starts the session, and waits for its first encoded frame. */
  async start(...prepare: Parameters<TestSession['prepare']>): Promise<void> {
    this.prepare(...prepare);
    this.worker.send({ type: 'start' });
    await this.first('encoding');
  }

  heard<T extends Kept>(type: T): Said<T>[] {
    return this.#said.filter((message): message is Said<T> => message.type === type);
  }

  /** Payloads of the worker's events with this name. */
  told(name: string): Record<string, unknown>[] {
    return this.heard('event').flatMap(({ event, payload }) => (event === name ? [payload] : []));
  }

  /** @returns the first message of a type; waits for it if necessary @throws after 10 s without this message */
  first<T extends Kept>(type: T): Promise<Said<T>> {
    return new Promise((resolve, reject) => {
      const [already] = this.heard(type);
      if (already) {
        resolve(already);
        return;
      }
      const limit = setTimeout(() => {
        off();
        reject(new Error(`the worker did not say ${type}`));
      }, LIMIT_MS);
      const off = this.worker.on(type, (message) => {
        clearTimeout(limit);
        off();
        resolve(message as Said<T>);
      });
    });
  }

  /** Creates a viewer that is not attached yet. */
  viewer(clientId = ALICE, conn = 1): NativeViewer {
    const viewer = new NativeViewer(this.worker, conn, clientId);
    this.#viewers.push(viewer);
    return viewer;
  }

  /** Creates a viewer that plays the picture and was greeted. */
  async watch(clientId = ALICE, conn = 1): Promise<NativeViewer> {
    const viewer = this.viewer(clientId, conn);
    viewer.attach();
    await viewer.untilPlaying();
    return viewer;
  }

  /** Sets the list of guests. */
  allow(version: number, ...guests: SessionGuests['guests']): void {
    this.worker.send({ type: 'guests', version, guests });
  }

  /** Creates a viewer of a guest that is not attached yet. @param id id of the guest, and of the guest's page */
  guest(id: string, conn: number, name = 'Ada'): NativeViewer {
    const viewer = this.viewer(id, conn);
    viewer.guest = { id, name };
    return viewer;
  }

  async end(): Promise<void> {
    for (const viewer of this.#viewers) viewer.close();
    this.worker.kill();
    await this.worker.exited;
  }
}
