/** JSON messages of the control channel. */
import { z } from 'zod';
import {
  codec,
  count,
  createFrameParser,
  finite,
  fitsUtf8,
  humanText,
  int,
  openEnum,
  type ParsedFrame,
  text,
  utf8Length,
  wireUuid,
} from '../common.ts';
import { CHANNELS } from './channels.ts';

export const INPUT_PROTOCOL = 1;
export const CONTROL_FEATURES = ['cursor', 'clipboard', 'rumble', 'frame_timing'] as const;
export const MAX_CLIPBOARD_BYTES = 65_536;
export const CLIPBOARD_PER_SECOND = 5;
export const FREEZE_PER_SECOND = 5;
/** Shapes in a viewer's cache; the oldest is evicted, and sent again when needed. */
export const CURSOR_SHAPES_KEPT = 128;
const MAX_CURSOR_PX = 128;

const features = z.array(openEnum(64)).max(64);

export const viewerHelloSchema = z.object({
  type: z.literal('hello'),
  protocol: int,
  features,
  viewport: z.object({ width: finite, height: finite, dpr: finite }),
});
export const agentHelloSchema = z.object({
  type: z.literal('hello'),
  protocol: int,
  features,
  pc_id: wireUuid,
  width: count,
  height: count,
  fps: finite,
  codec,
  input: z.array(openEnum(32)).max(16),
  max_pads: count,
});
export const frameTimingSchema = z.object({ type: z.literal('frame_timing'), enabled: z.boolean() });
export const clipboardSchema = z.object({ type: z.literal('clipboard'), text: text(MAX_CLIPBOARD_BYTES) });
export const freezeSchema = z.object({ type: z.literal('freeze'), gap_ms: z.number().min(0) });

/** Number or short name of a cursor shape; sent once while the viewer caches it. */
const cursorId = z.union([int, text(64)]);
const cursorSize = z.int().min(1).max(MAX_CURSOR_PX);

export const cursorSchema = z.object({
  type: z.literal('cursor'),
  id: cursorId,
  width: cursorSize,
  height: cursorSize,
  hot_x: z.int().min(0).max(MAX_CURSOR_PX),
  hot_y: z.int().min(0).max(MAX_CURSOR_PX),
  png: text(65_536),
});
/** null hides the cursor. */
export const cursorUseSchema = z.object({ type: z.literal('cursor_use'), id: cursorId.nullable() });
export const pointerModeSchema = z.object({ type: z.literal('pointer_mode'), relative: z.boolean() });
export const displaySchema = z.object({
  type: z.literal('display'),
  render_width: count,
  render_height: count,
  ui_scale: finite,
  stream_width: count,
  stream_height: count,
  owner: z.enum(['auto', 'pinned']),
});
export const appSchema = z.object({
  type: z.literal('app'),
  state: z.enum(['starting', 'client_only', 'game_running', 'game_exited', 'presented']),
});
export const noticeSchema = z.object({ type: z.literal('notice'), code: openEnum(64), text: humanText(256) });
export const controlByeSchema = z.object({
  type: z.literal('bye'),
  reason: z.enum(['session_ended', 'taken_over', 'idle_timeout', 'error']),
});
export const controlErrorSchema = z.object({
  type: z.literal('error'),
  code: openEnum(64),
  message: humanText(256),
});

export type ViewerHello = z.infer<typeof viewerHelloSchema>;
export type AgentHello = z.infer<typeof agentHelloSchema>;
export type FrameTiming = z.infer<typeof frameTimingSchema>;
export type Clipboard = z.infer<typeof clipboardSchema>;
export type Freeze = z.infer<typeof freezeSchema>;
export type Cursor = z.infer<typeof cursorSchema>;
export type CursorUse = z.infer<typeof cursorUseSchema>;
export type PointerMode = z.infer<typeof pointerModeSchema>;
export type Display = z.infer<typeof displaySchema>;
export type AppNotice = z.infer<typeof appSchema>;
export type Notice = z.infer<typeof noticeSchema>;
export type ControlBye = z.infer<typeof controlByeSchema>;
export type ControlError = z.infer<typeof controlErrorSchema>;

/** Viewer → agent. */
export type ViewerControl = ViewerHello | FrameTiming | Clipboard | Freeze | ControlError;
/** Agent → viewer. */
export type AgentControl =
  | AgentHello
  | Clipboard
  | Cursor
  | CursorUse
  | PointerMode
  | Display
  | AppNotice
  | Notice
  | ControlBye
  | ControlError;

const parseViewer = createFrameParser({
  hello: viewerHelloSchema,
  frame_timing: frameTimingSchema,
  clipboard: clipboardSchema,
  freeze: freezeSchema,
  error: controlErrorSchema,
});
const parseAgent = createFrameParser({
  hello: agentHelloSchema,
  clipboard: clipboardSchema,
  cursor: cursorSchema,
  cursor_use: cursorUseSchema,
  pointer_mode: pointerModeSchema,
  display: displaySchema,
  app: appSchema,
  notice: noticeSchema,
  bye: controlByeSchema,
  error: controlErrorSchema,
});

/** Reads one message that a viewer sent on the control channel. Never throws. */
export function parseViewerControl(frame: string): ParsedFrame<ViewerControl> {
  return parseViewer(frame);
}

/** Reads one message that an agent sent on the control channel. Never throws. */
export function parseAgentControl(frame: string): ParsedFrame<AgentControl> {
  return parseAgent(frame);
}

/** Text of one control message of either end. */
export function encodeControl(message: ViewerControl | AgentControl): string {
  return JSON.stringify(message);
}

/** Whether a text may be sent as clipboard: neither the text nor its escaped message is too long. */
export function fitsClipboard(text: string): boolean {
  if (!fitsUtf8(text, MAX_CLIPBOARD_BYTES)) return false;
  return utf8Length(encodeControl({ type: 'clipboard', text })) <= CHANNELS.control.maxMessageBytes;
}
