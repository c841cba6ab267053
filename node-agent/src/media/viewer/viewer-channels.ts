import type { Timer } from '@footlight/platform';
import type { ControlErrorCode } from '@footlight/protocol';
import type { StreamSpec } from '@footlight/protocol/agent';
import {
  type AgentControl,
  CHANNELS,
  type ChannelName,
  CLIPBOARD_PER_SECOND,
  CONTROL_BUFFER_BYTES,
  CURSOR_SHAPES_KEPT,
  decodeInput,
  encodeControl,
  encodeFrame,
  encodePong,
  encodeRumble,
  FREEZE_PER_SECOND,
  fitsClipboard,
  INPUT_PROTOCOL,
  type InputMessage,
  type KeyboardLayout,
  LAYOUTS_PER_SECOND,
  MOTION_BUFFER_BYTES,
  parseViewerControl,
  WINDOW_USES_PER_SECOND,
} from '@footlight/protocol/input';
import type { RumbleOrder } from '../../input/force-feedback.ts';
import type { PadHolder } from '../../input/gamepads.ts';
import { type FrameFacts, FrameTiming } from '../input/frame-timing.ts';
import { InputGuard, RateWindow } from '../input/input-guard.ts';
import { InputState } from '../input/input-state.ts';
import {
  mayControl,
  mayInput,
  mayReceive,
  maySend,
  mayUsePads,
  type PageRights,
  padIndexes,
} from '../input/page-rights.ts';
import type { SessionInput } from '../input/session-input.ts';
import type { MediaClock } from '../session/media-clock.ts';
import type { SendResult } from '../webrtc/peer.ts';

export interface ViewerChannelsOptions {
  pcId: string;
  stream: StreamSpec;
  clock: MediaClock;
  input: SessionInput;
  /** What the person of this page may do. */
  rights: PageRights;
  /** Whether input of this page is applied now; a guest's input is not while the owner is away. */
  acceptsInput(): boolean;
  /** Largest file in MiB; null: file transfers are disabled. */
  maxFileMb: number | null;
  send(channel: ChannelName, data: string | Buffer, maxBufferedBytes: number): SendResult;
  onClipboard(text: string): void;
  /** Called when the person switches to a window of the list. */
  onWindowUse(id: number): void;
  onFreeze(): void;
  /** Called after a protocol violation; the connection must then be closed. */
  onOffence(code: ControlErrorCode): void;
  /** Called when the control channel is open and the host's greeting was sent; the current state must then be sent. */
  onReady(): void;
  /** Called when the viewer sent its capabilities. */
  onGreeted(features: readonly string[]): void;
}

/** Messages that are replaced by newer ones while the channel is full. */
type Replaceable = 'cursor' | 'cursor_use' | 'clipboard' | 'windows';

/**
 * Interval of attempts to send. A full channel (1 MiB) drains in this time at 80 Mbit/s, and people do not notice a
 * cursor that is this late.
 */
const FLUSH_MS = 100;
/**
 * Largest number of waiting shapes: 16 shapes of at most 64 KiB equal the limit of the channel's own buffer (1 MiB).
 */
const MAX_PENDING_CURSORS = 16;

/**
 * The data channels of one viewer: receives input and motion, and sends and receives control messages and timing.
 * Owner: Peers, together with the viewer's connection. close() releases all keys and buttons that the viewer has
 * pressed.
 */
export class ViewerChannels {
  readonly #options: ViewerChannelsOptions;
  readonly #state: InputState;
  readonly #guard = new InputGuard();
  readonly #timing = new FrameTiming();
  readonly #clipboardIn = new RateWindow(CLIPBOARD_PER_SECOND);
  readonly #clipboardOut = new RateWindow(CLIPBOARD_PER_SECOND);
  readonly #freezes = new RateWindow(FREEZE_PER_SECOND);
  readonly #layouts = new RateWindow(LAYOUTS_PER_SECOND);
  readonly #windowUses = new RateWindow(WINDOW_USES_PER_SECOND);
  /**
   * The newest chosen layout, if it is not applied yet because this viewer's input is not active or exceeds the rate
   * limit.
   */
  #layout: KeyboardLayout | null = null;
  #pending: AgentControl[] = [];
  #flushTimer: Timer | null = null;
  /** Last sequence number per channel. */
  readonly #sequences = { input: 0, motion: 0 };
  /** A text that was copied in the session and waits because of the rate limit. */
  #copied: string | null = null;
  #active = false;
  #greeted = false;
  #closed = false;
  #viewerDrawsCursor = true;
  /** Cursor shapes in the viewer's cache, oldest first. */
  readonly #shapesSent = new Set<number | string>();

  constructor(options: ViewerChannelsOptions) {
    this.#options = options;
    const { size, maxPads, hasTouchScreen } = options.input;
    this.#state = new InputState({ ...size, maxPads, hasTouchScreen });
  }

  /** Sets whether this viewer's input is active; the owner of the connections decides this. */
  setActive(active: boolean): void {
    if (this.#active && !active) this.releaseAll();
    if (active && !this.#active) this.#options.input.takeOver(this.#state.pads, this.#options.rights);
    this.#active = active;
    this.#setLayout();
  }

  /** Whether the viewer draws the pointer. Default: true. */
  get drawsCursor(): boolean {
    return this.#viewerDrawsCursor;
  }

  onOpen(channel: ChannelName): void {
    if (channel !== 'control') return;
    const { stream, pcId, input, rights, maxFileMb } = this.#options;
    const hasPads = input.maxPads > 0 && mayUsePads(rights);
    const isOwner = rights.role === 'owner';
    const indexes = padIndexes(rights, input.maxPads);
    this.control({
      type: 'hello',
      protocol: INPUT_PROTOCOL,
      features: [
        ...['cursor', ...(isOwner ? ['clipboard'] : []), ...(hasPads ? ['rumble'] : []), 'frame_timing'],
        ...(isOwner ? ['keyboard_layout', 'windows'] : []),
        ...(maxFileMb === null ? [] : ['files', 'file_names']),
      ],
      pc_id: pcId,
      width: stream.width,
      height: stream.height,
      fps: stream.fps,
      codec: stream.codec,
      input: [
        ...(mayControl(rights) ? ['keyboard', 'pointer', 'text', 'touch'] : []),
        ...(hasPads ? ['gamepad'] : []),
      ],
      max_pads: hasPads ? input.maxPads : 0,
      ...(indexes === null ? {} : { pad_indexes: indexes }),
      ...(input.hasTouchScreen ? { touch_screen: true } : {}),
      ...(maxFileMb === null ? {} : { max_file_mb: maxFileMb }),
    });
    this.control({
      type: 'display',
      render_width: input.size.width,
      render_height: input.size.height,
      ui_scale: 1,
      stream_width: stream.width,
      stream_height: stream.height,
      owner: 'auto',
    });
    this.#options.onReady();
  }

  onMessage(channel: ChannelName, data: Buffer | string): void {
    if (this.#closed) return;
    const nowMs = this.#options.clock.monotonicMs();
    this.#state.heard(nowMs);
    if (channel === 'control' && !this.#guard.control(data.length, nowMs)) this.#onMalformed(nowMs);
    else if (Buffer.byteLength(data) > CHANNELS[channel].maxMessageBytes) this.#onMalformed(nowMs);
    else if (channel === 'control') this.#onControl(data, nowMs);
    // Text messages on the binary channels are ignored, because they have no meaning there.
    else if (typeof data !== 'string') this.#onBinary(channel, data, nowMs);
  }

  /** Called when a frame was sent to this viewer. */
  onFrame(facts: FrameFacts): void {
    const timing = this.#timing.frame(facts);
    if (!timing) return;
    const frame = encodeFrame({ ...timing, ...this.#stamp('motion') });
    this.#options.send('motion', Buffer.from(frame), MOTION_BUFFER_BYTES);
  }

  /** Sends a control message. Messages about cursor and clipboard wait while the channel is full. */
  control(message: AgentControl): void {
    if (this.#closed || !mayReceive(this.#options.rights, message.type)) return;
    const replaceable = isReplaceable(message.type);
    if (replaceable && this.#pending.length > 0) {
      this.#hold(message);
      return;
    }
    const limit = replaceable ? CONTROL_BUFFER_BYTES : Number.POSITIVE_INFINITY;
    const result = this.#options.send('control', encodeControl(message), limit);
    if (result === 'full' && replaceable) this.#hold(message);
    if (result === 'sent' && message.type === 'cursor') this.#noteShape(message.id);
  }

  /** Sends the id of the cursor shape in use, and the shape itself if it is not in the viewer's cache. */
  cursor(shape: Extract<AgentControl, { type: 'cursor' }> | null): void {
    if (!this.#viewerDrawsCursor) return;
    const waits = this.#pending.some((message) => message.type === 'cursor' && message.id === shape?.id);
    if (shape && !waits && !this.#shapesSent.has(shape.id)) this.control(shape);
    this.control({ type: 'cursor_use', id: shape?.id ?? null });
  }

  /**
   * Sends a text that was copied in the session. If the rate limit is exceeded, only the newest text is stored, and is
   * sent later. A text that is too long is not sent.
   */
  clipboard(text: string): void {
    if (!mayReceive(this.#options.rights, 'clipboard') || !fitsClipboard(text)) return;
    this.#copied = text;
    this.#sendCopied();
  }

  /** Sends rumble for a gamepad, if this person holds the gamepad and the viewer can play rumble. */
  rumble(index: number, { strong, weak, durationMs }: RumbleOrder, holder: PadHolder): void {
    if (this.#closed || !this.#active || holder !== this.#options.rights) return;
    if (!this.#state.canRumble(index)) return;
    const message = { ...this.#stamp('input'), index, strong, weak, duration_ms: durationMs };
    this.#options.send('input', Buffer.from(encodeRumble(message)), MOTION_BUFFER_BYTES);
  }

  /** Called a few times a second: releases the keys of a silent viewer and sends a delayed text. */
  tick(): void {
    this.#sendCopied();
    this.#setLayout();
    if (this.#state.isSilent(this.#options.clock.monotonicMs())) this.releaseAll();
  }

  releaseAll(): void {
    // Waiting text of this person is dropped, because this viewer's input is no longer active.
    const { input, rights } = this.#options;
    if (this.#active) input.dropText(rights);
    const actions = this.#state.release();
    if (actions.length > 0) input.perform(actions, null, rights);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.releaseAll();
    this.#flushTimer?.cancel();
    this.#pending = [];
  }

  #onBinary(lane: 'input' | 'motion', data: Buffer, nowMs: number): void {
    if (lane === 'input' && this.#guard.input(nowMs)) {
      this.#options.onOffence('input_flood');
      return;
    }
    if (lane === 'motion' && !this.#guard.motion(nowMs)) return;
    const decoded = decodeInput(data, lane, 'agent');
    if (decoded.kind === 'malformed') this.#onMalformed(nowMs);
    else if (decoded.kind === 'message') this.#onInput(lane, decoded.message, nowMs);
  }

  #onInput(lane: 'input' | 'motion', message: InputMessage, nowMs: number): void {
    if (message.kind === 'ping') {
      if (this.#guard.ping(nowMs)) this.#pong(message.seq, message.client_ms);
      return;
    }
    const { clock, input, acceptsInput, rights } = this.#options;
    if (!this.#active || !mayInput(rights, message)) return;
    // Announcements of pads are applied, because the page does not repeat them when its input is accepted again.
    if (message.kind !== 'pad_on' && message.kind !== 'pad_off' && !acceptsInput()) return;
    if (message.kind === 'release_all') input.dropText(rights);
    const actions = this.#state.apply(message, input.locks);
    if (actions === null) return;
    input.perform(actions, () => this.#timing.applied(lane, message.seq, clock.monotonicMs()), rights);
  }

  #pong(pingSeq: number, clientMs: number): void {
    const { clock, send } = this.#options;
    const wallMs = clock.nowMs();
    const pong = encodePong({
      ...this.#stamp('motion'),
      ping_seq: pingSeq,
      client_ms: clientMs,
      receive_ms: wallMs,
      send_ms: clock.nowMs(),
    });
    send('motion', Buffer.from(pong), MOTION_BUFFER_BYTES);
  }

  #onControl(data: Buffer | string, nowMs: number): void {
    const parsed = parseViewerControl(typeof data === 'string' ? data : data.toString('utf8'));
    if (parsed.kind === 'malformed') this.#onMalformed(nowMs);
    if (parsed.kind !== 'message') return;
    const { message } = parsed;
    if (!maySend(this.#options.rights, message.type)) return;
    if (message.type === 'hello') {
      this.#viewerDrawsCursor = message.features.includes('cursor');
      if (this.#greeted) return;
      this.#greeted = true;
      this.#options.onGreeted(message.features);
    } else if (message.type === 'frame_timing') this.#timing.everyFrame = message.enabled;
    else if (message.type === 'freeze' && this.#freezes.take(nowMs)) this.#options.onFreeze();
    else if (message.type === 'clipboard' && this.#active && this.#clipboardIn.take(nowMs)) {
      this.#options.onClipboard(message.text);
    } else if (message.type === 'keyboard_layout') {
      this.#layout = { layout: message.layout, variant: message.variant };
      this.#setLayout();
    } else if (message.type === 'window_use' && this.#active && this.#windowUses.take(nowMs)) {
      this.#options.onWindowUse(message.id);
    }
  }

  #setLayout(): void {
    const layout = this.#layout;
    if (layout === null || !this.#active || !this.#layouts.take(this.#options.clock.monotonicMs())) return;
    this.#layout = null;
    this.#options.input.setLayout(layout, (inForce, known) => {
      this.control({ type: 'keyboard_layout', ...inForce });
      if (known) return;
      const message = `this host has no keyboard layout ${layout.layout} ${layout.variant ?? ''}`.trim();
      this.control({ type: 'error', code: 'keyboard_layout_unknown', message });
    });
  }

  #sendCopied(): void {
    const text = this.#copied;
    if (text === null || !this.#clipboardOut.take(this.#options.clock.monotonicMs())) return;
    this.#copied = null;
    this.control({ type: 'clipboard', text });
  }

  #onMalformed(nowMs: number): void {
    if (this.#guard.malformed(nowMs)) this.#options.onOffence('input_malformed');
  }

  #hold(message: AgentControl): void {
    // Waiting shapes are not replaced, because a later `cursor_use` may refer to them. Other messages are replaced by
    // newer ones.
    if (message.type !== 'cursor') this.#pending = this.#pending.filter(({ type }) => type !== message.type);
    this.#pending.push(message);
    const shapes = this.#pending.filter(({ type }) => type === 'cursor');
    // The oldest shape is dropped, because the shape in use is the newest one.
    if (shapes.length > MAX_PENDING_CURSORS)
      this.#pending = this.#pending.filter((waiting) => waiting !== shapes[0]);
    this.#flushTimer ??= this.#options.clock.setTimeout(() => this.#flush(), FLUSH_MS);
  }

  /** Updates the copy of the viewer's cache, which evicts the oldest shape. */
  #noteShape(id: number | string): void {
    this.#shapesSent.add(id);
    const [oldest] = this.#shapesSent;
    if (this.#shapesSent.size > CURSOR_SHAPES_KEPT && oldest !== undefined) this.#shapesSent.delete(oldest);
  }

  #flush(): void {
    this.#flushTimer = null;
    const waiting = this.#pending;
    this.#pending = [];
    for (const message of waiting) this.control(message);
  }

  #stamp(lane: 'input' | 'motion'): { seq: number; t: number } {
    const seq = (this.#sequences[lane] + 1) >>> 0;
    this.#sequences[lane] = seq;
    return { seq, t: Math.trunc(this.#options.clock.monotonicMs()) >>> 0 };
  }
}

function isReplaceable(type: AgentControl['type']): type is Replaceable {
  return type === 'cursor' || type === 'cursor_use' || type === 'clipboard' || type === 'windows';
}
