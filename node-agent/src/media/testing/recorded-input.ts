import { ManualClock } from '@footlight/platform/testing';
import { encodeKey, type KeyboardLayout } from '@footlight/protocol/input';
import type { XInput } from '../../display/x11/x-input.ts';
import { Gamepads } from '../../input/gamepads.ts';
import { FakeDeviceFile } from '../../input/testing/fake-device-file.ts';
import { OWNER, type PageRights } from '../input/page-rights.ts';
import { SessionInput } from '../input/session-input.ts';
import { ViewerChannels } from '../viewer/viewer-channels.ts';
import type { SendResult } from '../webrtc/peer.ts';
import { testStream } from './stream.ts';

const SIZE = { width: 640, height: 480 };

/** One viewer's channels, and the messages sent on them. */
export interface ConnectedChannels {
  channels: ViewerChannels;
  sent: { channel: string; data: Buffer | string }[];
}

/**
 * The input of a session whose fake display and gamepads only record it, for tests of the messages that viewers send.
 */
export class RecordedInput {
  readonly size = SIZE;
  readonly clock = new ManualClock();
  readonly file = new FakeDeviceFile();
  /** Input that reached the display. */
  performed: unknown[][] = [];
  readonly offences: string[] = [];
  readonly clipboards: string[] = [];
  readonly windowUses: number[] = [];
  /** Layouts that the display supports in addition to its first one. */
  readonly layouts = new Set(['de', 'fr']);
  /** The persons whose waiting text was dropped. */
  readonly dropped: PageRights[] = [];
  /** Whether input of the viewers is applied. */
  acceptsInput = true;
  /** Result that send() returns for each message to a viewer. */
  outcome: SendResult = 'sent';
  /** Largest file of the viewers' file transfers, MiB; null: no file transfers. */
  maxFileMb: number | null = null;
  readonly display: XInput;
  input: SessionInput;
  readonly #gamepads: Gamepads;
  readonly #open: ViewerChannels[] = [];

  constructor() {
    this.#gamepads = new Gamepads({
      files: [this.file],
      sessionId: 's',
      clock: this.clock,
      onRumble: () => undefined,
      onCreated: () => undefined,
      onProblem: (why) => this.performed.push([why]),
    });
    this.input = new SessionInput(this.clock, SIZE, this.#gamepads);
    const record =
      (name: string) =>
      (...values: unknown[]) =>
        this.performed.push([name, ...values]);
    const press =
      (name: string): XInput['key'] =>
      (code, down, onInjected, onTaken) => {
        this.performed.push([name, code, down]);
        onInjected?.();
        if (onTaken) this.clock.setTimeout(onTaken, 0);
      };
    this.display = {
      locks: 0,
      key: press('key'),
      button: press('button'),
      moveTo: record('moveTo'),
      moveBy: record('moveBy'),
      wheel: record('wheel'),
      text: (text: string) => this.performed.push(['text', text]),
      layout: async (layout: KeyboardLayout) => {
        this.performed.push(['layout', layout.layout, layout.variant]);
        return this.layouts.has(layout.layout);
      },
      dropText: (person: PageRights) => this.dropped.push(person),
    } as unknown as XInput;
    this.input.connect(this.display, null);
  }

  /** Connects a viewer whose input is active. @param rights what its person may do */
  connect(rights: PageRights = OWNER): ConnectedChannels {
    const sent: ConnectedChannels['sent'] = [];
    const channels = new ViewerChannels({
      pcId: '11111111-1111-4111-8111-111111111111',
      stream: testStream(SIZE),
      clock: this.clock,
      input: this.input,
      rights,
      acceptsInput: () => this.acceptsInput,
      maxFileMb: this.maxFileMb,
      send: (channel, data) => {
        if (this.outcome === 'sent') sent.push({ channel, data });
        return this.outcome;
      },
      onClipboard: (text) => this.clipboards.push(text),
      onWindowUse: (id) => this.windowUses.push(id),
      onFreeze: () => undefined,
      onOffence: (code) => this.offences.push(code),
      onReady: () => undefined,
      onGreeted: () => undefined,
    });
    this.#open.push(channels);
    channels.onOpen('control');
    channels.setActive(true);
    return { channels, sent };
  }

  close(): void {
    for (const channels of this.#open) channels.close();
    this.#gamepads.close();
  }
}

/** The message that a viewer sends when a key is pressed or released. */
export const keyFrame = (code: number, down: boolean, seq = 1) =>
  Buffer.from(encodeKey({ seq, t: 0, code, down, locks: 0 }));
