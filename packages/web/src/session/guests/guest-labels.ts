/** Texts about guests. Pure. */
import type { GuestRole } from '@footlight/protocol/guests';
import type { WatchingGuest } from '@footlight/protocol/input';
import { msg, plural, t } from '../../i18n/translate.ts';

export interface GuestRights {
  role: GuestRole;
  pad_index: number | null;
}

/** The roles in the order of their rights, with what they allow. */
export const ROLES: readonly [GuestRole, label: string, explanation: string][] = [
  ['watch', msg('Watch only'), msg('Sees the picture and hears the sound.')],
  ['gamepad', msg('One gamepad'), msg('Also plays with one gamepad of the app.')],
  [
    'full',
    msg('Full control'),
    msg('Also uses keyboard, pointer and gamepads, and can open your files and accounts in the app.'),
  ],
];

/** What a guest may do, in a few words. */
export function rightsLabel({ role, pad_index }: GuestRights): string {
  if (role === 'gamepad' && pad_index !== null) return t('Gamepad {n}', { n: pad_index + 1 });
  return t(ROLES.find(([name]) => name === role)?.[1] ?? role);
}

/** Who watches, in one short sentence. */
export function watchingLabel(guests: readonly Pick<WatchingGuest, 'name' | 'role'>[]): string {
  const [first] = guests;
  if (first === undefined) return '';
  if (guests.length > 1) return plural(guests.length, '{n} guest is here', '{n} guests are here');
  return first.role === 'watch'
    ? t('{name} is watching', { name: first.name })
    : t('{name} is playing', { name: first.name });
}
