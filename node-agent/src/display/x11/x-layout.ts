import type { KeyboardLayout } from '@footlight/protocol/input';
import type { XKeyboard } from 'x11';
import type { XConnection } from './x-connection.ts';

/** XkbGetKbdByName. Source: XKBproto, appendix D; XKBproto.h, xkbGetKbdByNameReq. */
const GET_KBD_BY_NAME = 23;
const REQUEST_HEADER_BYTES = 12;
/** Offset of the field `loaded` in the reply, after the first 8 bytes. */
const LOADED = 2;

/**
 * Names as used in the folder `symbols` of xkeyboard-config. The server inserts a name into source text that it
 * compiles, so names with other characters must be refused.
 */
const LAYOUT_NAME = /^[a-z][a-z0-9_]{0,31}$/;
const VARIANT_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/;
/** Files in `symbols` that are not layouts but parts of a map, for example the media keys. */
const NO_LAYOUTS: ReadonlySet<string> = new Set([
  ...['altwin', 'capslock', 'compose', 'ctrl', 'empty', 'eurosign', 'group', 'inet', 'keypad', 'kpdl'],
  ...['latin', 'level3', 'level5', 'nbsp', 'olpc', 'pc', 'rupeesign', 'shift', 'srvr_ctrl', 'terminate'],
  ...['typo', 'parens'],
]);

/** The layout of a display directly after its start. */
export const FIRST_LAYOUT: KeyboardLayout = { layout: 'us', variant: null };

/**
 * Parts of the keyboard map of a layout, according to the rules of xkeyboard-config for a PC keyboard on Linux.
 * @returns null: the name cannot be the name of a layout
 * Source: xkeyboard-config, rules/evdev.
 */
export function mapParts({ layout, variant }: KeyboardLayout): string[] | null {
  if (!LAYOUT_NAME.test(layout) || NO_LAYOUTS.has(layout)) return null;
  if (variant !== null && !VARIANT_NAME.test(variant)) return null;
  const compat = layout === 'jp' ? 'complete+japan' : 'complete';
  const symbols = `pc+${layout}${variant === null ? '' : `(${variant})`}+inet(evdev)`;
  // Keymap, keycodes, types, compatibility map, symbols, geometry. The geometry stays empty, because it is used only
  // for drawing a keyboard.
  return ['', 'evdev+aliases(qwerty)', 'complete', compat, symbols, ''];
}

/**
 * Sets the display's keyboard map. The server compiles the map (50 ms) before it processes the next request of any
 * client, so later keys use the new map.
 * @returns false: the display does not know the layout, and the old map stays
 * @throws when the display does not answer
 */
export async function loadLayout(
  x: XConnection,
  keyboard: XKeyboard,
  layout: KeyboardLayout,
): Promise<boolean> {
  const parts = mapParts(layout);
  if (parts === null) return false;
  return x.request<boolean>((callback) => {
    const { client } = x;
    client.seq_num++;
    client.pack_stream.put(encodeRequest(keyboard, parts));
    client.replies[client.seq_num] = [(reply: Buffer) => reply[LOADED] === 1, callback];
    client.pack_stream.submit(true);
  });
}

function encodeRequest({ majorOpcode, UseCoreKbd }: XKeyboard, parts: readonly string[]): Buffer {
  const names = parts.flatMap((part) => [Buffer.from([part.length]), Buffer.from(part, 'latin1')]);
  const bytes = REQUEST_HEADER_BYTES + names.reduce((sum, { length }) => sum + length, 0);
  const request = Buffer.alloc((bytes + 3) & ~3);
  request.writeUInt8(majorOpcode, 0);
  request.writeUInt8(GET_KBD_BY_NAME, 1);
  request.writeUInt16LE(request.length / 4, 2);
  request.writeUInt16LE(UseCoreKbd, 4);
  // Bytes 6 to 9 request parts of the new map. They are 0, because the map is not read from this reply.
  request.writeUInt8(1, 10);
  Buffer.concat(names).copy(request, REQUEST_HEADER_BYTES);
  return request;
}
