import type { Session } from '@footlight/protocol/rest';
import { msg, t } from '../../i18n/translate.ts';

type Sick = Exclude<NonNullable<Session['health_state']>, 'healthy' | 'failed'>;

const SENTENCES: Record<Sick, string> = {
  network_degrading: msg('The network carries less than the picture needs'),
  abr_at_floor: msg('The network is slow, so the picture has its lowest quality'),
  unsustainable: msg('The network is too slow for this picture'),
  client_decode_degrading: msg('The viewing device decodes too slowly; a lower quality helps'),
  client_presentation_degrading: msg(
    'The viewing device shows the picture unevenly; other programs may keep it busy',
  ),
};

/**
 * What limits a session, in one sentence with the reason.
 * @returns undefined: no limit, no data, or a failed session, which has its own message
 */
export function healthLabel({
  health_state: state,
  health_reason: reason,
}: Pick<Session, 'health_state' | 'health_reason'>): string | undefined {
  if (state === undefined || state === 'healthy' || state === 'failed') return undefined;
  return reason === undefined ? `${t(SENTENCES[state])}.` : `${t(SENTENCES[state])} (${reason}).`;
}
