import type { END_REASONS, FailureCode } from '@footlight/protocol';
import type { Session } from '@footlight/protocol/rest';
import { msg } from '../i18n/translate.ts';

/** Text about an ended session for its user. */
export interface EndText {
  /** The reason in one sentence, untranslated. */
  sentence: string;
  /** Whether the end was requested, so that the page shows no warning. */
  calm: boolean;
}

const HOST_LOST: EndText = {
  sentence: msg('The machine was lost and did not come back in time.'),
  calm: false,
};

/** End reasons without their own sentence, because the failure code of the ended or failed app is more precise. */
type WithoutText =
  | 'assign_refused'
  | 'start_refused'
  | 'assign_timed_out'
  | 'stop_timed_out'
  | 'unsustainable'
  | 'agent_restart'
  | 'unknown_session'
  | 'console_disabled'
  | 'console_display_disconnected'
  | 'cert bench complete'
  | 'cert bench timeout'
  | 'stopped'
  | 'failed';

const BY_REASON: Readonly<Record<Exclude<(typeof END_REASONS)[number], WithoutText>, EndText>> = {
  user_requested: { sentence: msg('You or an administrator ended this app.'), calm: true },
  admin: { sentence: msg('An administrator ended this app.'), calm: true },
  app_exited: { sentence: msg('The app closed itself.'), calm: true },
  idle_timeout: { sentence: msg('It was ended because nobody used it for a while.'), calm: true },
  host_draining: { sentence: msg('An administrator took the machine out of service.'), calm: true },
  agent_shutdown: { sentence: msg('The machine was shut down.'), calm: true },
  orphaned: { sentence: msg('The machine lost its connection to the server for too long.'), calm: false },
  account_disabled: { sentence: msg('Your account was disabled.'), calm: true },
  device_revoked: { sentence: msg('This device was removed from your account.'), calm: true },
  peer_gone: { sentence: msg('The connection to this browser was lost for too long.'), calm: false },
  start_timed_out: { sentence: msg('The app took too long to start.'), calm: false },
  host_lost: HOST_LOST,
};

const REFUSED = msg('The machine did not accept the app.');

export const BY_FAILURE: Readonly<Record<FailureCode, string>> = {
  app_exited_early: msg('The app closed before it showed anything.'),
  app_crashed: msg('The app crashed.'),
  app_never_presented: msg('The app started but never drew a picture.'),
  image_missing: msg('The machine does not have this app.'),
  image_pull_timeout: msg('Fetching the app took too long.'),
  encoder_unavailable: msg('The machine has no encoder for the picture.'),
  encoder_failed: msg('The machine could not continue to encode the picture.'),
  media_worker_crashed: msg('The program that encodes the picture crashed.'),
  display_failed: msg('The app’s display stopped answering.'),
  display_name_taken: msg('The app was ended because it tried to access the displays of other apps.'),
  capture_failed: msg('The app’s picture could not be captured.'),
  container_failed: msg('The app’s container could not be started.'),
  home_unavailable: msg('Your files for this app could not be opened.'),
  home_base_unavailable: msg('The machine could not open the files that this app shares among people.'),
  unsustainable: msg('The connection to this browser was too slow for too long.'),
  agent_restarted: msg('The machine’s agent restarted, which ended the app.'),
  policy: msg('The rules of the machine do not allow this app.'),
  busy: msg('The machine had no room for the app.'),
  internal: msg('Something went wrong on the machine.'),
  invalid: REFUSED,
  unsupported: REFUSED,
  unknown_command: REFUSED,
  no_such_session: REFUSED,
};

const textsFor = <Texts>(table: Readonly<Record<string, Texts>>, code: string | null): Texts | undefined =>
  Object.hasOwn(table, code ?? '') ? table[code ?? ''] : undefined;

/**
 * The reason of an end in one sentence. An unknown reason gets a general sentence; the technical text is in a collapsed
 * section.
 * @param endedHere whether the person ended the app on this page. The record has the same reason, `user_requested`, if
 *   an administrator ended it.
 */
export function endLabel(
  session: Pick<Session, 'state' | 'end_reason' | 'failure_code' | 'state_detail' | 'started_at'>,
  endedHere: boolean,
): EndText {
  if (endedHere && session.end_reason === 'user_requested')
    return { sentence: msg('You ended this app.'), calm: true };
  const byReason = textsFor(BY_REASON, session.end_reason);
  if (session.state !== 'failed') return byReason ?? { sentence: msg('The app has ended.'), calm: true };
  const sentence = textsFor(BY_FAILURE, session.failure_code);
  if (sentence !== undefined) return { sentence, calm: false };
  if (byReason !== undefined) return byReason;
  if (session.state_detail === 'host_lost') return HOST_LOST;
  if (session.started_at === null) return { sentence: msg('The app could not be started.'), calm: false };
  return { sentence: msg('Something went wrong and the app had to be ended.'), calm: false };
}
