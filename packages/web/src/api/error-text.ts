import type { ErrorCode } from '@footlight/protocol/rest';
import { ApiFailure } from './client.ts';

/** An error for people: event, advice, and a code to quote. */
export interface ErrorText {
  title: string;
  advice: string;
  /** For reports to the administrator. */
  code: string;
}

type Words = readonly [title: string, advice: string];

/** Codes that have the words of their status, with the sentence of the server where it is the caller's fault. */
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
  | 'internal'
  | 'invalid_state'
  | 'job_already_running'
  | 'job_disabled'
  | 'job_unmanaged'
  | 'managed_preset_image_invalid'
  | 'method_not_allowed'
  | 'not_installed'
  | 'provider_enabled'
  | 'provider_unavailable'
  | 'schedule_locked'
  | 'session_not_running'
  | 'validation_failed';

const BY_CODE: Readonly<Record<Exclude<ErrorCode, ToldByServer> | 'network', Words>> = {
  network: [
    'The server cannot be reached',
    'Nothing was changed. Check your connection; this page tries again by itself.',
  ],
  unauthorized: ['You are signed out', 'Sign in again to go on.'],
  invalid_credentials: ['Email or password is wrong', 'Check both and try again.'],
  forbidden: ['You may not do this', 'Ask an administrator if you think you should.'],
  registration_closed: [
    'Registration is closed here',
    'Ask the person who runs this instance for an account.',
  ],
  invalid_invite: [
    'This invite code cannot be used',
    'It may have run out or been used already. Ask for a new one.',
  ],
  setup_already_complete: ['This instance was claimed already', 'Sign in with the administrator account.'],
  not_found: ['It is not here any more', 'It may have been removed meanwhile. Go back and look again.'],
  session_quota_exceeded: ['You have as many apps open as you may', 'End one of them, then launch this one.'],
  home_in_use: ['This app’s files are in use by another session', 'Go on in that session, or end it first.'],
  home_not_provisioned: [
    'The launcher has not been started yet',
    'Start the launcher this app belongs to once, then try again.',
  ],
  session_not_swappable: [
    'The app cannot be changed now',
    'It may be starting, ending or changing already. Try again in a moment.',
  ],
  swap_exceeds_reservation: [
    'That app needs more than this session has',
    'End this session and launch the app by itself.',
  ],
  parent_app_disabled: [
    'The launcher of this app is switched off',
    'An administrator can switch it on again.',
  ],
  profile_ineligible: [
    'That quality does not suit this device or connection',
    'Choose another one and try again.',
  ],
  profile_not_launchable_for_app: [
    'This app is not offered in that quality',
    'Choose another one and try again.',
  ],
  no_host_available: [
    'No machine can run this app right now',
    'Ask an administrator to look at the hosts, or try again later.',
  ],
  capacity_exhausted: [
    'Every machine is busy',
    'A place opens when somebody ends a session. Try again in a moment.',
  ],
  agent_not_connected: [
    'The machine is not connected',
    'It reconnects by itself when it can. Try again shortly.',
  ],
  restart_required: ['The host still runs sessions', 'Confirm that they may end, then try again.'],
  rate_limited: ['That was too often', 'Wait a moment, then try again.'],
  client_too_old: ['This page is out of date', 'Reload it to get the current version.'],
  https_required: ['This needs the secure address', 'Open the page with https.'],
  library_discovery_disabled: ['Library discovery is switched off', 'Switch it on in the settings first.'],
};

const BY_STATUS: Readonly<Record<number, Words>> = {
  400: ['That was not accepted', 'Nothing was changed. Check what you entered.'],
  401: ['You are signed out', 'Sign in again to go on.'],
  403: ['You may not do this', 'Ask an administrator if you think you should.'],
  404: ['It is not here any more', 'It may have been removed meanwhile. Go back and look again.'],
  409: ['This does not fit the current state', 'Nothing was changed. Look again and retry.'],
  413: ['That is too large', 'Nothing was changed. Try a smaller one.'],
  422: ['That was not accepted', 'Nothing was changed. Check what you entered.'],
  429: ['That was too often', 'Wait a moment, then try again.'],
};

/** Repeated here, because importing the table of codes would load every schema. */
export const NO_HOST = 'No host can run this app.';

/** A host is missing for several reasons; the server's reason is more precise. */
function adviceOf({ code, message }: ApiFailure, usual: string): string {
  if (code !== 'no_host_available' || message === '' || message === NO_HOST) return usual;
  return `${message} Ask an administrator.`;
}

/**
 * Text for any thrown value. An unknown code falls back to its status, and a 4xx then shows the server's own
 * sentence, which names the field or the conflict.
 */
export function errorText(error: unknown): ErrorText {
  if (!(error instanceof ApiFailure)) {
    return {
      title: 'This page stumbled',
      advice: 'Your apps keep running. Reload the page; if it happens again, tell an administrator.',
      code: error instanceof Error ? error.name : 'unknown',
    };
  }
  const quoted = error.status === 0 ? error.code : `${error.code} · ${error.status}`;
  const known = (BY_CODE as Record<string, Words | undefined>)[error.code];
  if (known !== undefined) {
    const wait = error.code === 'rate_limited' && error.retryAfterSecs !== undefined;
    return {
      title: known[0],
      advice: wait ? `Try again in ${secondsInWords(error.retryAfterSecs ?? 0)}.` : adviceOf(error, known[1]),
      code: quoted,
    };
  }
  const byStatus = BY_STATUS[error.status];
  if (byStatus !== undefined) {
    const theirs = error.status < 500 && error.code !== 'unreadable' ? error.message : '';
    return { title: byStatus[0], advice: theirs || byStatus[1], code: quoted };
  }
  return {
    title: 'The server had a problem',
    advice: 'Running apps are not affected. Try again; if it stays, tell an administrator.',
    code: quoted,
  };
}

function secondsInWords(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.ceil(seconds))} seconds`;
  return `${Math.ceil(seconds / 60)} minutes`;
}
