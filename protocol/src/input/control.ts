/** JSON messages of the control channel. */
import { z } from 'zod';
import {
  type ControlErrorCode,
  codec,
  count,
  createFrameParser,
  finite,
  fitsUtf8,
  humanText,
  int,
  openCode,
  openEnum,
  text,
  utf8Length,
  wireUuid,
} from '../common.ts';
import { GUEST_ROLES, MAX_GUEST_NAME_BYTES, MAX_GUESTS } from '../guests.ts';
import { CHANNELS } from './channels.ts';

/** Version of the input protocol that this code supports. */
export const INPUT_PROTOCOL = 1;
/** file_names: the messages `rename` and `mkdir` of the channel `files`, which older hosts do not answer. */
export const CONTROL_FEATURES = [
  'cursor',
  'clipboard',
  'rumble',
  'frame_timing',
  'keyboard_layout',
  'windows',
  'files',
  'file_names',
] as const;
/** Longest clipboard text. With all its escapes, it fits into one message of the control channel. */
export const MAX_CLIPBOARD_BYTES = 65_536;
/** Limit of clipboard messages. A person copies at most once a second, but an app may copy in a loop. */
export const CLIPBOARD_PER_SECOND = 5;
/**
 * Limit of reported freezes. A freeze lasts for several pictures, so more reports in a second would only fill the log.
 */
export const FREEZE_PER_SECOND = 5;
/**
 * Limit of layout changes. A person changes the layout rarely, and each change makes the display compile a keyboard
 * map.
 */
export const LAYOUTS_PER_SECOND = 2;
/**
 * Largest number of listed windows, and of lists per second. There is a limit, because apps may change titles very
 * often.
 */
export const MAX_WINDOWS_LISTED = 16;
export const WINDOWS_PER_SECOND = 2;
/** Limit of window switches. A person switches windows at most a few times a second. */
export const WINDOW_USES_PER_SECOND = 10;
export const MAX_WINDOW_TITLE_BYTES = 128;
/**
 * Number of shapes in a viewer's cache, at most 8 MiB. A shape that was evicted is sent again when it is needed.
 * Chosen, not measured.
 */
export const CURSOR_SHAPES_KEPT = 128;
/** Browsers ignore larger cursor images. Source: MDN, `cursor`, "Icon size limits". */
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
  /** Indexes of the gamepads that this page may use, in the order of their use; missing: 0 to max_pads − 1. */
  pad_indexes: z.array(z.int().min(0).max(15)).max(16).optional(),
  /**
   * true: the display has a touch screen, so every contact reaches the app. Missing: the first contact moves the
   * pointer.
   */
  touch_screen: z.boolean().optional(),
  /** Largest file of the channel `files`, in MiB; present only if the feature `files` is listed. */
  max_file_mb: count.optional(),
});
export const frameTimingSchema = z.object({ type: z.literal('frame_timing'), enabled: z.boolean() });
export const clipboardSchema = z.object({ type: z.literal('clipboard'), text: text(MAX_CLIPBOARD_BYTES) });
export const freezeSchema = z.object({ type: z.literal('freeze'), gap_ms: z.number().min(0) });

/** Names from xkeyboard-config, for example `de`, or `us` with `intl`. variant null: the layout's default. */
export const keyboardLayoutSchema = z.object({
  type: z.literal('keyboard_layout'),
  layout: text(32),
  variant: text(32).nullable(),
});
/** Visible top-level windows. */
export const windowsSchema = z.object({
  type: z.literal('windows'),
  windows: z
    .array(z.object({ id: int, title: humanText(MAX_WINDOW_TITLE_BYTES), active: z.boolean() }))
    .max(MAX_WINDOWS_LISTED),
});
/** Raises and focuses a window of the list. */
export const windowUseSchema = z.object({ type: z.literal('window_use'), id: int });

/** Id of a cursor shape. The shape is sent only once while it is in the viewer's cache. */
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
/** id null: the cursor is hidden. */
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
/** The guests of the session whose connections are open. Only the owner gets it, at each change. */
export const guestsSchema = z.object({
  type: z.literal('guests'),
  guests: z
    .array(
      z.object({
        id: wireUuid,
        name: humanText(MAX_GUEST_NAME_BYTES),
        role: z.enum(GUEST_ROLES),
        pad_index: z.int().min(0).max(15).nullable(),
      }),
    )
    .max(MAX_GUESTS),
});
/**
 * Whether the owner watches. Only guests get it. While the owner is away, a guest gets neither picture nor sound, and its
 * input is ignored.
 */
export const ownerSchema = z.object({ type: z.literal('owner'), watches: z.boolean() });
export const controlByeSchema = z.object({
  type: z.literal('bye'),
  /** guest_ended and owner_away: only for guests, with the meaning of signaling */
  reason: z.enum(['session_ended', 'taken_over', 'idle_timeout', 'error', 'guest_ended', 'owner_away']),
});
export const controlErrorSchema = z.object({
  type: z.literal('error'),
  code: openCode<ControlErrorCode>(),
  message: humanText(256),
});

export type KeyboardLayout = Omit<z.infer<typeof keyboardLayoutSchema>, 'type'>;
export type AppWindow = z.infer<typeof windowsSchema>['windows'][number];
export type AgentHello = z.infer<typeof agentHelloSchema>;
export type Cursor = z.infer<typeof cursorSchema>;
export type CursorUse = z.infer<typeof cursorUseSchema>;
export type PointerMode = z.infer<typeof pointerModeSchema>;
export type Display = z.infer<typeof displaySchema>;
export type WatchingGuest = z.infer<typeof guestsSchema>['guests'][number];
export type AppNotice = z.infer<typeof appSchema>;
export type ControlBye = z.infer<typeof controlByeSchema>;

/** Messages from the viewer to the agent. */
const viewerToAgent = z.discriminatedUnion('type', [
  viewerHelloSchema,
  frameTimingSchema,
  clipboardSchema,
  freezeSchema,
  keyboardLayoutSchema,
  windowUseSchema,
  controlErrorSchema,
]);
export type ViewerControl = z.infer<typeof viewerToAgent>;

/** Messages from the agent to the viewer. */
const agentToViewer = z.discriminatedUnion('type', [
  agentHelloSchema,
  clipboardSchema,
  cursorSchema,
  cursorUseSchema,
  pointerModeSchema,
  displaySchema,
  appSchema,
  keyboardLayoutSchema,
  windowsSchema,
  noticeSchema,
  guestsSchema,
  ownerSchema,
  controlByeSchema,
  controlErrorSchema,
]);
export type AgentControl = z.infer<typeof agentToViewer>;

/** Reads one message that a viewer sent on the control channel. Never throws. */
export const parseViewerControl = createFrameParser(viewerToAgent);
/** Reads one message that an agent sent on the control channel. Never throws. */
export const parseAgentControl = createFrameParser(agentToViewer);

/** Text of one control message of either end. */
export function encodeControl(message: ViewerControl | AgentControl): string {
  return JSON.stringify(message);
}

/** Whether a text may be sent as clipboard: the text and its escaped message must not be too long. */
export function fitsClipboard(text: string): boolean {
  if (!fitsUtf8(text, MAX_CLIPBOARD_BYTES)) return false;
  return utf8Length(encodeControl({ type: 'clipboard', text })) <= CHANNELS.control.maxMessageBytes;
}
