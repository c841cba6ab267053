/** The first part of the session page: one sentence, the session's steps, and why the session ran on its host. Pure. */
import type { END_REASONS, FailureCode } from '@footlight/protocol';
import type { Placement, Session } from '@footlight/protocol/rest';
import { isTerminal } from '@footlight/protocol/session-states';
import type { Tone } from '../../components/state-chip.tsx';
import { durationLabel } from '../../i18n/duration-labels.ts';
import { decimalLabel } from '../../i18n/number-labels.ts';
import { msg, plural, t } from '../../i18n/translate.ts';
import { healthLabel } from './health-labels.ts';
import { stateDetailLabel } from './state-details.ts';

/** A sentence about a session, and the action that an administrator can take; remedy null: no action is needed. */
export interface Story {
  tone: Tone;
  sentence: string;
  remedy: string | null;
}

type Texts = readonly [sentence: string, remedy: string];

const UPDATE = msg('Update the agent of this host: it and this service are of different versions.');
const BELOW = msg(
  'The last output of the app is below; most often a program, a library or a file is missing.',
);
const BUNDLE = msg('Save the bundle before its samples are deleted, a day after the end.');

const FAILURES: Readonly<Record<FailureCode, Texts>> = {
  app_exited_early: [msg('The app ended before it showed anything.'), BELOW],
  app_crashed: [msg('The app crashed.'), BELOW],
  app_never_presented: [
    msg('The app started and never drew a picture.'),
    msg('If the app only needs more time, raise app_boot_timeout_secs in the settings of the host.'),
  ],
  image_missing: [msg('The image of the app is not on the host.'), msg('Install it under Images.')],
  image_pull_timeout: [
    msg('The image of the app did not arrive in time.'),
    msg('Install it in advance on the page of images, so that no launch waits for it.'),
  ],
  encoder_unavailable: [
    msg('The host has no encoder for this stream.'),
    msg('The page of the host says in Readiness what is missing.'),
  ],
  encoder_failed: [
    msg('The encoder stopped and did not come back.'),
    msg('Certify the host to see what its encoder sustains. The log of its driver may say more.'),
  ],
  media_worker_crashed: [msg('The program that makes the picture crashed.'), BUNDLE],
  display_failed: [msg('The display of the app stopped answering.'), BUNDLE],
  capture_failed: [msg('The picture of the app could not be captured.'), BUNDLE],
  display_name_taken: [
    msg('The app tried to access the displays of other apps, so it was ended.'),
    msg('Look at what this app runs before you offer it again.'),
  ],
  container_failed: [
    msg('The container of the app could not be started.'),
    msg('The message comes from the container engine of the host.'),
  ],
  home_unavailable: [
    msg('The home of this person could not be opened.'),
    msg('Look at the disks of the host, and at who may write to its home root.'),
  ],
  home_base_unavailable: [
    msg('The base of the homes of this app could not be used on this host.'),
    msg('The message says why: the folder, its permissions, or the file system of the homes.'),
  ],
  agent_restarted: [
    msg('The agent of the host restarted, and the session ended with it.'),
    msg('Nothing is wrong with the app. If nobody restarted the agent, its log says why.'),
  ],
  unsustainable: [
    msg('For three minutes, the network could not carry even the lowest rate.'),
    msg('The figures below show when it began. A launch profile with a lower bitrate needs less bandwidth.'),
  ],
  policy: [
    msg('The rules of the host do not allow this app.'),
    msg('The message names the rule. Change the settings of the host, or the app.'),
  ],
  busy: [
    msg('The host could not start another session at that moment.'),
    msg('Look at what else runs there.'),
  ],
  internal: [msg('The agent of the host had an internal error.'), msg('The log of the agent has more.')],
  invalid: [msg('The agent of the host did not understand the message that launches the app.'), UPDATE],
  unsupported: [msg('The host cannot run this kind of app.'), UPDATE],
  unknown_command: [msg('The host does not know how to launch it.'), UPDATE],
  no_such_session: [
    msg('The host did not know the session any more.'),
    msg('Its agent restarted during the launch. Launching again is enough.'),
  ],
};

type EndReason = Exclude<(typeof END_REASONS)[number], FailureCode | 'failed'>;

const ENDS: Readonly<Record<EndReason, Texts>> = {
  user_requested: [msg('It was ended by the person who used it, or by an administrator.'), ''],
  admin: [msg('An administrator ended it.'), ''],
  device_revoked: [msg('The device from which it was launched was removed.'), ''],
  account_disabled: [msg('Its account was disabled.'), ''],
  host_draining: [msg('It was ended so that its host could be drained.'), ''],
  console_disabled: [msg('The console of its host was switched off.'), ''],
  console_display_disconnected: [msg('The display of the console was unplugged.'), ''],
  'cert bench complete': [msg('The measurement of an encoder is finished.'), ''],
  'cert bench timeout': [
    msg('The measurement of an encoder took too long.'),
    msg('Certify while no other session runs on this host.'),
  ],
  unknown_session: [msg('The control plane had no record of the session, so its host ended it.'), ''],
  app_exited: [msg('The app closed itself.'), ''],
  idle_timeout: [msg('It had no viewer for longer than its host allows.'), ''],
  peer_gone: [
    msg('The connection to its viewer was lost for too long.'),
    msg('The figures below show the network.'),
  ],
  agent_shutdown: [msg('The agent of its host was stopped, or the host was shut down.'), ''],
  agent_restart: [msg('The agent of its host restarted.'), ''],
  orphaned: [
    msg('Its host had no connection to this service for too long.'),
    msg('Look at the network between them.'),
  ],
  assign_refused: [msg('The host refused the launch.'), msg('The message says why.')],
  start_refused: [msg('The host refused to start it.'), msg('The message says why.')],
  assign_timed_out: [
    msg('The host did not answer the launch in time.'),
    msg('Look at the load of the host.'),
  ],
  start_timed_out: [
    msg('It did not start in time.'),
    msg('Look at the load of the host, and at the step of the session below.'),
  ],
  stop_timed_out: [msg('The host did not end it in time.'), msg('Look at the load of the host.')],
  host_lost: [
    msg('Its host was lost and did not come back in time.'),
    msg('Look at the host: power, network, and whether its agent runs.'),
  ],
  stopped: [msg('It ended.'), ''],
};

const textsIn = (table: Readonly<Record<string, Texts>>, code: string | null): Texts | undefined =>
  code !== null && Object.hasOwn(table, code) ? table[code] : undefined;

type Told = Pick<
  Session,
  | 'state'
  | 'state_detail'
  | 'failure_code'
  | 'end_reason'
  | 'health_state'
  | 'health_reason'
  | 'idle_ends_at'
  | 'created_at'
  | 'started_at'
  | 'ended_at'
>;

const endedLabel = (code: string): string => t('It ended: {reason}.', { reason: code.replaceAll('_', ' ') });

/** The reason of a failure in one sentence. A code of a newer service is shown unchanged. */
export function failureLabel(code: string): string {
  const known = textsIn(FAILURES, code);
  return known === undefined ? endedLabel(code) : t(known[0]);
}

/** The state of the session, or the reason of its end. A code of a newer service is shown unchanged. */
export function storyOf(session: Told, nowMs: number): Story {
  if (!isTerminal(session.state)) return liveStory(session, nowMs);
  const { failure_code, end_reason } = session;
  const known = textsIn(FAILURES, failure_code) ?? textsIn(ENDS, end_reason) ?? textsIn(FAILURES, end_reason);
  const code = failure_code ?? end_reason;
  const tone = session.state === 'failed' ? 'danger' : 'neutral';
  if (known === undefined) {
    const sentence = code === null ? t('It ended, and no reason was reported.') : endedLabel(code);
    return { tone, sentence, remedy: null };
  }
  const [sentence, remedy] = known;
  return { tone, sentence: t(sentence), remedy: remedy === '' ? null : t(remedy) };
}

function liveStory(session: Told, nowMs: number): Story {
  const sick = healthLabel(session);
  if (session.state !== 'running') {
    const sentence = {
      pending: t('It waits until a host is chosen.'),
      assigned: t('Its host has been asked to start it.'),
      starting: t('It starts.'),
      stopping: t('It is being stopped.'),
    }[session.state as 'pending' | 'assigned' | 'starting' | 'stopping'];
    return { tone: 'info', sentence, remedy: null };
  }
  if (sick !== undefined) return { tone: 'warning', sentence: sick, remedy: null };
  const endsMs = session.idle_ends_at == null ? undefined : Date.parse(session.idle_ends_at) - nowMs;
  if (endsMs !== undefined)
    return {
      tone: 'info',
      sentence: t('It runs without a viewer. Its host ends it in {time}.', {
        time: durationLabel(Math.max(0, endsMs)),
      }),
      remedy: null,
    };
  return { tone: 'success', sentence: t('It runs, and nothing is wrong with it.'), remedy: null };
}

/** A step in the life of a session. */
export interface StoryStep {
  key: string;
  label: string;
  /** Time of the step, ms since 1970; null: the step has not happened, or its time is not known. */
  atMs: number | null;
  /** "after 1.2 s"; "": no note. */
  note: string;
  state: 'done' | 'current' | 'failed';
}

/**
 * The session's past steps and its current step.
 * @param firstPictureMs from the launch to the first picture at the viewer, ms; undefined: not known
 */
export function storySteps(session: Told, firstPictureMs: number | undefined, nowMs: number): StoryStep[] {
  const createdMs = Date.parse(session.created_at);
  const startedMs = session.started_at === null ? null : Date.parse(session.started_at);
  const endedMs = session.ended_at === null ? null : Date.parse(session.ended_at);
  const steps: StoryStep[] = [
    { key: 'launched', label: t('Launched'), atMs: createdMs, note: '', state: 'done' },
  ];
  if (startedMs !== null)
    steps.push({
      key: 'started',
      label: t('App started'),
      atMs: startedMs,
      note: t('after {time}', { time: secondsLabel(startedMs - createdMs) }),
      state: 'done',
    });
  if (firstPictureMs !== undefined && firstPictureMs >= 0)
    steps.push({
      key: 'picture',
      label: t('First picture seen'),
      atMs: createdMs + firstPictureMs,
      note: t('after {time}', { time: secondsLabel(firstPictureMs) }),
      state: 'done',
    });
  const detail = session.state_detail === null ? '' : stateDetailLabel(session.state_detail);
  if (!isTerminal(session.state)) {
    const running = session.state === 'running' && startedMs !== null;
    const label = {
      running: t('Running'),
      stopping: t('Stopping'),
      pending: t('Waiting'),
      assigned: t('Placed'),
      starting: t('Starting'),
    };
    steps.push({
      key: 'now',
      label: label[session.state],
      atMs: null,
      note: running
        ? t('for {time}', { time: durationLabel(Math.max(0, nowMs - startedMs)) })
        : capital(detail) || t('for {time}', { time: durationLabel(Math.max(0, nowMs - createdMs)) }),
      state: 'current',
    });
    return steps;
  }
  const lasted =
    endedMs === null ? '' : t('after {time}', { time: secondsLabel(endedMs - (startedMs ?? createdMs)) });
  const failed = session.state === 'failed';
  steps.push({
    key: 'ended',
    label: failed ? t('Failed') : t('Ended'),
    atMs: endedMs,
    note: [failed && detail !== '' ? t('at “{step}”', { step: detail }) : '', lasted]
      .filter(Boolean)
      .join(', '),
    state: failed ? 'failed' : 'done',
  });
  return steps;
}

/** "1.2 s" below ten seconds, where tenths are important; otherwise in the form of other durations. */
export const secondsLabel = (ms: number): string =>
  ms < 10_000 ? `${decimalLabel(Math.max(0, ms) / 1000, 1)} s` : durationLabel(ms);

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * The reason why the session runs on its host, in one sentence.
 * @param hostId of the session; null: it has no host
 */
export function whyThere(
  placement: Pick<Placement, 'candidates' | 'refusals'>,
  hostId: string | null,
): string {
  const { candidates, refusals } = placement;
  const others = new Set(refusals.map(({ host_id, gpu_id }) => gpu_id ?? host_id)).size;
  const refused = others === 0 ? '' : plural(others, '; {n} other could not', '; {n} others could not');
  const turn = candidates.findIndex((each) => each.host_id === hostId);
  const place = candidates[turn];
  if (place === undefined)
    return candidates.length === 0
      ? t('No GPU could run it{refused}.', { refused })
      : plural(candidates.length, '{n} GPU could run it{refused}.', '{n} GPUs could run it{refused}.', {
          refused,
        });
  const free = plural(place.free_slots, '{n} slot free at the launch', '{n} slots free at the launch');
  if (candidates.length === 1)
    return t('The only GPU that could run it, {free}{refused}.', { free, refused });
  if (turn === 0)
    return plural(
      candidates.length,
      'The best of {n} GPU that could run it, {free}{refused}.',
      'The best of {n} GPUs that could run it, {free}{refused}.',
      { free, refused },
    );
  return plural(
    candidates.length,
    'Number {turn} of {n} GPU that could run it: the GPUs before it were booked in the meantime{refused}.',
    'Number {turn} of {n} GPUs that could run it: the GPUs before it were booked in the meantime{refused}.',
    { turn: turn + 1, refused },
  );
}
