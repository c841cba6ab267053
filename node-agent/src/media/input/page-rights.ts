/**
 * What the pages of a session may do: the page of the owner everything, the page of a guest what its role allows. Pure.
 * The media worker checks every message with these rules, because a guest can run any program instead of the page.
 * Source: docs/sessions.md, "Guests".
 */
import type { AgentControl, InputMessage, ViewerControl } from '@footlight/protocol/input';
import type { PadHolder } from '../../input/gamepads.ts';

/** The rights of one person; also the holder of the gamepads that this person's page announced. */
export type PageRights = PadHolder;

export const OWNER: PageRights = { role: 'owner', padIndex: null };

/** Whether the person may use keyboard, pointer and touch. */
export const mayControl = ({ role }: PageRights): boolean => role === 'owner' || role === 'full';
/** Whether the person may use at least one gamepad. */
export const mayUsePads = ({ role }: PageRights): boolean => role !== 'watch';

/**
 * Indexes of the gamepads that the person may use, in the order of their use; null: all, from the first. A guest with
 * full control begins with the last one, because the owner uses the first ones.
 * @param maxPads number of the session's gamepads
 */
export function padIndexes({ role, padIndex }: PageRights, maxPads: number): number[] | null {
  if (role === 'owner') return null;
  const all = Array.from({ length: maxPads }, (_, index) => maxPads - 1 - index);
  if (role === 'full') return all;
  return all.filter((index) => role === 'gamepad' && index === padIndex);
}

/** Whether a message of the channels `input` and `motion` may reach the session. */
export function mayInput(rights: PageRights, message: InputMessage): boolean {
  if (mayControl(rights)) return true;
  switch (message.kind) {
    // The page releases what its person presses: of this role that is only the gamepad.
    case 'release_all':
      return rights.role === 'gamepad';
    case 'pad_on':
    case 'pad_off':
    case 'pad_state':
      return rights.role === 'gamepad' && message.index === rights.padIndex;
    default:
      return false;
  }
}

/** Messages of the control channel that are only about the page's own connection. */
const ABOUT_CONNECTION: readonly ViewerControl['type'][] = ['hello', 'frame_timing', 'freeze', 'error'];

/** Whether the page may send a message of this type on the control channel. */
export function maySend({ role }: PageRights, type: ViewerControl['type']): boolean {
  return role === 'owner' || ABOUT_CONNECTION.includes(type);
}

/**
 * Messages that guests do not get: the clipboard and the titles of windows are private, the keyboard layout is the
 * owner's, and only the owner knows the guests.
 */
const ONLY_FOR_OWNER: readonly AgentControl['type'][] = ['clipboard', 'windows', 'keyboard_layout', 'guests'];

/** Whether the page may get a message of this type on the control channel. */
export function mayReceive({ role }: PageRights, type: AgentControl['type']): boolean {
  return role === 'owner' || !ONLY_FOR_OWNER.includes(type);
}
