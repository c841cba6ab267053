import type { ErrorCode } from '@footlight/protocol/rest';
import { msg, plural, t } from '../i18n/translate.ts';
import { ApiFailure } from './client.ts';

/** An error in words: the event, advice, and a code to quote. */
export interface ErrorText {
  title: string;
  advice: string;
  /** The code, which the person can report to the administrator. */
  code: string;
}

export type Texts = readonly [title: string, advice: string];

/** Codes that only the page after a login with the identity provider explains. */
export type SignOnCode =
  | 'account_disabled'
  | 'account_not_linked'
  | 'sign_in_expired'
  | 'sign_in_not_confirmed';

/**
 * Codes without their own text, which use the text of their status. If the caller is at fault, the server's sentence is
 * added.
 */
type ToldByServer =
  | 'already_installed'
  | 'capture_busy'
  | 'capture_kind_unsupported'
  | 'capture_unsupported'
  | 'conflict'
  | 'context_unresolved'
  | 'digest_unresolved'
  | 'display_update_rejected'
  | 'external_resize_unsupported'
  | 'guest_link_invalid'
  | 'internal'
  | 'invalid_state'
  | 'job_already_running'
  | 'job_disabled'
  | 'job_unmanaged'
  | 'managed_preset_image_invalid'
  | 'method_not_allowed'
  | 'not_installed'
  | 'preflight_unsupported'
  | 'provider_enabled'
  | 'schedule_locked'
  | 'session_not_running'
  | 'sharing_disabled'
  | 'sharing_unsupported'
  | 'too_many_guests'
  | 'validation_failed';

const BY_CODE: Readonly<Record<Exclude<ErrorCode, SignOnCode | ToldByServer> | 'network', Texts>> = {
  network: [
    msg('The server cannot be reached'),
    msg(
      'Check your connection. The page loads again automatically. If you were saving something, check whether it was saved.',
    ),
  ],
  unauthorized: [msg('You are logged out'), msg('Log in again to go on.')],
  invalid_credentials: [msg('Email or password is wrong'), msg('Check both and try again.')],
  provider_unavailable: [
    msg('The other service did not answer'),
    msg('Try again in a moment. If the problem remains, tell an administrator.'),
  ],
  forbidden: [
    msg('You are not allowed to do this'),
    msg('If you think that you need access, ask an administrator.'),
  ],
  registration_closed: [
    msg('Registration is closed here'),
    msg('Ask the person who runs this instance for an account.'),
  ],
  invalid_invite: [
    msg('This invite code cannot be used'),
    msg('It may have expired or been used already. Ask for a new one.'),
  ],
  setup_already_complete: [
    msg('This instance was claimed already'),
    msg('Log in with the administrator account.'),
  ],
  not_found: [
    msg('It is not here any more'),
    msg('It may have been removed meanwhile. Go back and look again.'),
  ],
  session_quota_exceeded: [
    msg('You cannot have more apps open'),
    msg('End one of them, then launch this one.'),
  ],
  home_in_use: [
    msg('This app’s files are in use by another session'),
    msg('Continue in that session, or end it first.'),
  ],
  home_not_provisioned: [
    msg('The launcher has not been started yet'),
    msg('Start the launcher of this app once, then try again.'),
  ],
  session_not_swappable: [
    msg('The app cannot be changed now'),
    msg('It may be starting, ending or changing already. Try again in a moment.'),
  ],
  swap_exceeds_reservation: [
    msg('That app needs more capacity than this session has'),
    msg('End this session, then launch the app in a new session.'),
  ],
  parent_app_disabled: [
    msg('The launcher of this app is switched off'),
    msg('An administrator can switch it on again.'),
  ],
  profile_ineligible: [
    msg('That quality does not suit this device or connection'),
    msg('Choose another one and try again.'),
  ],
  profile_not_launchable_for_app: [
    msg('This app is not offered in that quality'),
    msg('Choose another one and try again.'),
  ],
  no_host_available: [
    msg('No machine can run this app right now'),
    msg('Ask an administrator to look at the hosts, or try again later.'),
  ],
  capacity_exhausted: [
    msg('Every machine is busy'),
    msg('A place becomes free when somebody ends an app. Try again in a moment.'),
  ],
  agent_not_connected: [
    msg('The machine is not connected'),
    msg('It reconnects automatically when it can. Try again shortly.'),
  ],
  restart_required: [
    msg('The host still runs sessions'),
    msg('Confirm that these sessions end, then try again.'),
  ],
  rate_limited: [msg('Too many attempts'), msg('Wait a moment, then try again.')],
  client_too_old: [msg('This page is out of date'), msg('Reload it to get the current version.')],
  https_required: [msg('This needs the secure address'), msg('Open the page with https.')],
  library_discovery_disabled: [
    msg('Library discovery is switched off'),
    msg('Switch it on in the settings first.'),
  ],
};

const BY_STATUS: Readonly<Record<number, Texts>> = {
  400: [msg('That was not accepted'), msg('Nothing was changed. Check what you entered.')],
  401: [msg('You are logged out'), msg('Log in again to go on.')],
  403: [
    msg('You are not allowed to do this'),
    msg('If you think that you need access, ask an administrator.'),
  ],
  404: [msg('It is not here any more'), msg('It may have been removed meanwhile. Go back and look again.')],
  409: [
    msg('This does not fit the current state'),
    msg('Nothing was changed. Reload the page, check the current state, and try again.'),
  ],
  413: [msg('That is too large'), msg('Nothing was changed. Try a smaller one.')],
  422: [msg('That was not accepted'), msg('Nothing was changed. Check what you entered.')],
  429: [msg('Too many attempts'), msg('Wait a moment, then try again.')],
};

/** A copy of the server's text, because importing the table of codes would load every schema. */
export const NO_HOST = 'No host can run this app.';

/** Sentences of the server about why no host can run an app. */
export const NO_HOST_REASONS: readonly string[] = [
  msg('No host has the image of this app yet; try again soon.'),
  msg('This app is a container image, and no host runs containers yet.'),
];

/** The advice for an error. For a missing host the server's sentence is used, because there are several reasons. */
function adviceOf({ code, message }: ApiFailure, usual: string): string {
  if (code !== 'no_host_available' || message === '' || message === NO_HOST) return usual;
  return t('{message} Ask an administrator.', {
    message: NO_HOST_REASONS.includes(message) ? t(message) : message,
  });
}

/**
 * The text for any thrown value. An unknown code uses the text of its status. A 4xx then also shows the server's
 * sentence, which names the field or the conflict.
 */
export function errorText(error: unknown): ErrorText {
  if (!(error instanceof ApiFailure)) {
    return {
      title: t('This page had an error'),
      advice: t('Your apps keep running. Reload the page; if it happens again, tell an administrator.'),
      code: error instanceof Error ? error.name : 'unknown',
    };
  }
  const quoted = error.status === 0 ? error.code : `${error.code} · ${error.status}`;
  const known = (BY_CODE as Record<string, Texts | undefined>)[error.code];
  if (known !== undefined) {
    const wait = error.code === 'rate_limited' && error.retryAfterSecs !== undefined;
    return {
      title: t(known[0]),
      advice: wait ? waitLabel(error.retryAfterSecs ?? 0) : adviceOf(error, t(known[1])),
      code: quoted,
    };
  }
  const byStatus = BY_STATUS[error.status];
  if (byStatus !== undefined) {
    const theirs = error.status < 500 && error.code !== 'unreadable' ? error.message : '';
    return { title: t(byStatus[0]), advice: theirs || t(byStatus[1]), code: quoted };
  }
  return {
    title: t('The server had a problem'),
    advice: t('Running apps are not affected. Try again; if the problem remains, tell an administrator.'),
    code: quoted,
  };
}

function waitLabel(seconds: number): string {
  if (seconds < 90) {
    const count = Math.max(1, Math.ceil(seconds));
    return plural(count, 'Try again in {n} second.', 'Try again in {n} seconds.');
  }
  return plural(Math.ceil(seconds / 60), 'Try again in {n} minute.', 'Try again in {n} minutes.');
}
