import { LAUNCH_STEPS } from '@footlight/protocol/session-states';
import { msg, t } from '../../i18n/translate.ts';

/** Details of a session's state, from its host and from the service (control-plane/src/sessions/life/state.ts). */
const DETAILS: Readonly<Record<string, string>> = {
  [LAUNCH_STEPS.waiting_home]: msg('waiting for the previous session to release its home'),
  [LAUNCH_STEPS.preparing_home]: msg('preparing home'),
  [LAUNCH_STEPS.starting_display]: msg('starting display'),
  [LAUNCH_STEPS.starting_app]: msg('starting app'),
  [LAUNCH_STEPS.starting_encoder]: msg('starting encoder'),
  [LAUNCH_STEPS.app_booting]: msg('app booting'),
  [LAUNCH_STEPS.app_presented]: msg('app presented'),
  'stop requested': msg('stop requested'),
  host_unreachable: msg('host not reachable'),
  host_reconnected: msg('host reconnected'),
  host_lost: msg('host lost'),
  'start timed out': msg('start timed out'),
  'assign timed out': msg('assign timed out'),
  'stop timed out': msg('stop timed out'),
  swapping: msg('changing the app'),
  'swap complete': msg('app changed'),
};

/** The detail of a session's state in the person's language; a detail of a newer host is shown unchanged. */
export function stateDetailLabel(detail: string): string {
  if (Object.hasOwn(DETAILS, detail)) return t(DETAILS[detail] ?? detail);
  const percent = new RegExp(`^${LAUNCH_STEPS.pulling_image} (\\d+) %$`).exec(detail)?.[1];
  return percent === undefined ? detail : t('pulling image {percent} %', { percent });
}
