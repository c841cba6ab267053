import type { DeletionEffect } from '@footlight/protocol/rest';
import { bytesLabel } from '../../../i18n/bytes-labels.ts';
import { countLabel } from '../quantity-labels.ts';

/** The effect of a removed grant on people, as text. Pure. */
export function revokedLabel({ people, running }: Pick<DeletionEffect, 'people' | 'running'>): string {
  if (people === 0) return 'Nobody loses it, because another grant still allows it.';
  const goesOn =
    running === 0
      ? ''
      : ` ${countLabel(running, 'running session')} ${running === 1 ? 'continues' : 'continue'}.`;
  return `It disappears from the ${people === 1 ? 'library of 1 person' : `libraries of ${people} people`}.${goesOn}`;
}

/** What is deleted together with a thing, one line per kind; kinds with a count of 0 are left out. Pure. */
export function effectLines(effect: DeletionEffect): string[] {
  const { kind, homes, home_bytes, tiles, sessions, entitlements, favourites, devices, invites } = effect;
  const files = `${countLabel(homes, 'home')} with ${bytesLabel(home_bytes)} of files`;
  const lines: [number, string][] = [
    [tiles, `${countLabel(tiles, 'tile')} of titles inside it`],
    [sessions, `${countLabel(sessions, 'session')} with ${sessions === 1 ? 'its' : 'their'} measurements`],
    [
      entitlements,
      kind === 'app'
        ? `${countLabel(entitlements, 'grant that lets', 'grants that let')} people use it`
        : `${countLabel(entitlements, 'app')} given to them alone`,
    ],
    [favourites, countLabel(favourites, 'favourite')],
    [devices, `${countLabel(devices, 'device')} that ${devices === 1 ? 'is' : 'are'} signed out`],
    [invites, `${countLabel(invites, 'invite')} that they made`],
    [
      homes,
      kind === 'host'
        ? `${files}, which stay on the machine and are no longer listed`
        : `${files}, which their hosts delete a day later`,
    ],
  ];
  return lines.filter(([count]) => count > 0).map(([, label]) => label);
}
