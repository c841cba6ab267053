import type { DeletionEffect } from '@footlight/protocol/rest';
import { bytesLabel } from '../../../components/bytes-labels.ts';
import { plural, t } from '../../../i18n/translate.ts';

/** The effect of a removed grant on people, as text. Pure. */
export function revokedLabel({ people, running }: Pick<DeletionEffect, 'people' | 'running'>): string {
  if (people === 0) return t('Nobody loses it, because another grant still allows it.');
  const lost = plural(
    people,
    'It disappears from the library of {n} person.',
    'It disappears from the libraries of {n} people.',
  );
  if (running === 0) return lost;
  return `${lost} ${plural(running, '{n} running session continues.', '{n} running sessions continue.')}`;
}

/** What is deleted together with a thing, one line per kind; kinds with a count of 0 are left out. Pure. */
export function effectLines(effect: DeletionEffect): string[] {
  const { kind, homes, home_bytes, tiles, sessions, entitlements, favourites, devices, invites } = effect;
  const size = bytesLabel(home_bytes);
  const lines: [number, string][] = [
    [tiles, plural(tiles, '{n} tile of titles inside it', '{n} tiles of titles inside it')],
    [sessions, plural(sessions, '{n} session with its measurements', '{n} sessions with their measurements')],
    [
      entitlements,
      kind === 'app'
        ? plural(entitlements, '{n} grant that lets people use it', '{n} grants that let people use it')
        : plural(entitlements, '{n} app given to them alone', '{n} apps given to them alone'),
    ],
    [favourites, plural(favourites, '{n} favourite', '{n} favourites')],
    [devices, plural(devices, '{n} device that is logged out', '{n} devices that are logged out')],
    [invites, plural(invites, '{n} invite that they made', '{n} invites that they made')],
    [
      homes,
      kind === 'host'
        ? plural(
            homes,
            '{n} home with {size} of files, which stay on the machine and are no longer listed',
            '{n} homes with {size} of files, which stay on the machine and are no longer listed',
            { size },
          )
        : plural(
            homes,
            '{n} home with {size} of files, which their hosts delete a day later',
            '{n} homes with {size} of files, which their hosts delete a day later',
            { size },
          ),
    ],
  ];
  return lines.filter(([count]) => count > 0).map(([, label]) => label);
}
