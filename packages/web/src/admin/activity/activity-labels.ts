import type { ActivityAction, ActivityEntry } from '@footlight/protocol/rest';
import { bytesLabel } from '../../components/bytes-labels.ts';
import { msg, plural, t } from '../../i18n/translate.ts';
import { kindLabel } from '../diagnosis/captures/capture-content.ts';
import { exactTimeLabel } from '../diagnosis/time-labels.ts';
import { toldText } from '../frame/told-text.ts';
import { stateDetailLabel } from '../sessions/state-details.ts';
import { failureLabel } from '../sessions/story.ts';
import { fieldLabel } from './field-labels.ts';

const WORDS: Readonly<Record<ActivityAction, string>> = {
  'app.create': msg('Added an app'),
  'app.update': msg('Changed an app'),
  'app.delete': msg('Deleted an app'),
  'app.artwork.set': msg('Chose artwork'),
  'app.artwork.upload': msg('Uploaded artwork'),
  'app.artwork.cleared': msg('Removed artwork'),
  'app.artwork.reresolve': msg('Searched for all artwork again'),
  'app.entitlement.grant': msg('Gave access to an app'),
  'app.entitlement.revoke': msg('Revoked access to an app'),
  'app.entitlement.set_mode': msg('Set who may use a launcher'),
  'app.library.rule.set': msg('Made a rule about a title'),
  'app.library.rule.delete': msg('Removed a rule about a title'),
  'library.scan.force': msg('Requested scans of homes'),
  'runtime_preset.create': msg('Added a preset'),
  'runtime_preset.update': msg('Changed a preset'),
  'runtime_preset.delete': msg('Deleted a preset'),
  'image.installed': msg('Installed an image'),
  'image.uninstalled': msg('Removed an image'),
  'image.pinned': msg('Pinned an image'),
  'image.unpinned': msg('Unpinned an image'),
  'image.updated': msg('Updated an image'),
  'image.synced': msg('Fetched the image catalog'),
  'stream_profile.create': msg('Added a rung'),
  'stream_profile.update': msg('Changed a rung'),
  'stream_profile.delete': msg('Deleted a rung'),
  'launch_profile.create': msg('Added a launch profile'),
  'launch_profile.update': msg('Changed a launch profile'),
  'launch_profile.delete': msg('Deleted a launch profile'),
  'profile_policy.update': msg('Changed the profile policy'),
  'backup.download': msg('Downloaded a backup'),
  'backup.delete': msg('Deleted a backup'),
  'job.update': msg('Changed a background job'),
  'job.run': msg('Started a background job'),
  'instance.settings.updated': msg('Changed settings'),
  'instance.secret.set': msg('Stored a secret'),
  'instance.secret.cleared': msg('Removed a secret'),
  'user.role_changed': msg('Changed a role'),
  'user.disabled': msg('Disabled an account'),
  'user.enabled': msg('Enabled an account'),
  'user.linked': msg('Linked an account to the identity provider'),
  'user.password_reset_link': msg('Made a link to set a password'),
  'user.quota_changed': msg('Changed a session quota'),
  'user.deleted': msg('Deleted an account'),
  'invite.minted': msg('Made an invite'),
  'invite.revoked': msg('Withdrew an invite'),
  'host.enroll': msg('Enrolled a host'),
  'host.preflight': msg('Tested the connection to a host'),
  'host.restart': msg('Restarted an agent'),
  'host.settings.update': msg('Changed settings of a host'),
  'console.config.update': msg('Changed a console'),
  'certification.run': msg('Began to certify encoders of a host'),
  'host.drain': msg('Drained a host'),
  'host.uncordon': msg('Returned a host to service'),
  'host.delete': msg('Deleted a host'),
  'session.launched': msg('Launched an app'),
  'session.recording.download': msg('Downloaded a recording of a session'),
  'session.recording.freeze': msg('Saved a recording of a session'),
  'session.guest_removed': msg('Removed a guest from a session'),
  'session.shared': msg('Shared a session with a guest'),
  'session.stop': msg('Stopped a session'),
  'session.capture': msg('Made a capture of a session'),
  'session.failed': msg('A session failed'),
  'storage.gc.confirm': msg('Allowed a host to delete files of homes'),
  'storage.home.tombstone': msg('Marked a home for deletion'),
  'enrollment_token.create': msg('Made an enrollment token'),
  'enrollment_token.delete': msg('Deleted an enrollment token'),
};

/** A newer service may write actions without a label in this page; such an action is shown unchanged. */
export const actionLabel = (action: string): string =>
  Object.hasOwn(WORDS, action) ? t(WORDS[action as ActivityAction]) : action;

/** Labels of frequent details that are numbers; '': a zero says nothing. */
const COUNTS: Readonly<Record<string, (n: number) => string>> = {
  images: (n) => plural(n, '{n} image', '{n} images'),
  homes: (n) => plural(n, '{n} home', '{n} homes'),
  queued: (n) => plural(n, '{n} search requested', '{n} searches requested'),
  skipped: (n) => (n === 0 ? '' : plural(n, '{n} skipped', '{n} skipped')),
  revoked: (n) => (n === 0 ? '' : plural(n, '{n} person has lost it', '{n} people have lost it')),
  live_sessions: (n) => (n === 0 ? '' : plural(n, '{n} session', '{n} sessions')),
  max_concurrent_sessions: (n) => plural(n, '{n} session at once', '{n} sessions at once'),
  max_uses: (n) => plural(n, 'for {n} account', 'for {n} accounts'),
  requested: (n) => plural(n, '{n} requested', '{n} requested'),
  deleted: (n) => plural(n, '{n} deleted', '{n} deleted'),
  pruned: (n) => plural(n, '{n} deleted', '{n} deleted'),
  expired: (n) => (n === 0 ? '' : plural(n, '{n} expired', '{n} expired')),
  enqueued: (n) => plural(n, '{n} search requested', '{n} searches requested'),
  returned_abandoned: (n) => (n === 0 ? '' : plural(n, '{n} requested again', '{n} requested again')),
  total_pts: (n) => plural(n, '{n} measurement', '{n} measurements'),
  total: (n) => plural(n, '{n} app', '{n} apps'),
  count: (n) => plural(n, '{n} found', '{n} found'),
  skipped_locked: (n) => (n === 0 ? '' : plural(n, '{n} skipped', '{n} skipped')),
  bytes: bytesLabel,
  kept: (n) => plural(n, '{n} kept', '{n} kept'),
};

/** Labels of frequent details that have few values; '': the value says nothing. */
const VALUES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  rule: { allow: msg('Publish'), ignore: msg('Keep out') },
  role: { admin: msg('Administrator'), user: msg('User') },
  subject_type: { all: msg('everybody'), user: msg('one account') },
  mode: { all: msg('everybody'), user: msg('one account'), none: msg('nobody') },
  applied: { true: '' },
  confirmed: { true: '' },
  delete_derived: { true: msg('with its titles') },
  disabled: { true: msg('its tile was switched off') },
  already_terminal: { true: msg('it had ended already') },
  restart_triggered: { true: msg('with a restart of the agent') },
  sync_error: { true: msg('the catalog could not be fetched') },
  lazy: { true: msg('fetched at the first launch') },
  force: { true: msg('forced') },
  crop: { tile: msg('cover'), hero: msg('background') },
  seed: { true: msg('from the set of examples') },
  truncated: { true: msg('too long to be kept') },
};

/** Details that repeat others, or are only for the service. */
const OMITTED = new Set(['eligible', 'granted_by', 'item_count']);

/** The most useful details of an action; ids are omitted. */
export function detailLabel({ details }: Pick<ActivityEntry, 'details'>): string {
  if (typeof details.failure_code === 'string') return failureLabel(details.failure_code);
  if (typeof details.state_detail === 'string') return capital(stateDetailLabel(details.state_detail));
  return Object.entries(details)
    .filter(([key, value]) => !/(^|_)id$/.test(key) && value !== null && value !== '' && value !== false)
    .map(([key, value]) => {
      const label = frequentLabel(key, value);
      if (label !== undefined) return label;
      if (key === 'name' || key === 'username' || key === 'node_name') return toldText(value);
      if (Array.isArray(value)) return listLabel(key, value);
      if (value === true) return plainName(key);
      return `${plainName(key)} ${isTime(value) ? exactTimeLabel(Date.parse(value)) : toldText(value)}`;
    })
    .filter(Boolean)
    .join(' · ');
}

function frequentLabel(key: string, value: unknown): string | undefined {
  if (OMITTED.has(key)) return '';
  if (key === 'version' && typeof value === 'string') return t('version {version}', { version: value });
  if (key === 'expires_at' && isTime(value))
    return t('valid until {time}', { time: exactTimeLabel(Date.parse(value)) });
  if (key === 'kind' && typeof value === 'string') return kindLabel(value);
  if (key === 'provider' && typeof value === 'string') return value;
  if (typeof value === 'number' && Object.hasOwn(COUNTS, key)) return COUNTS[key]?.(value);
  const labels = Object.hasOwn(VALUES, key) ? VALUES[key] : undefined;
  const label = labels?.[toldText(value)];
  return label === undefined ? undefined : label && t(label);
}

/** Changed fields by their labels. Fields with the same label are named once. */
const listLabel = (key: string, values: readonly unknown[]): string =>
  key === 'keys'
    ? [...new Set(values.map((field) => fieldLabel(toldText(field))))].join(', ')
    : values.map(plainName).join(', ');

/** ISO 8601 with a time, as the service writes times. */
const isTime = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value);

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const plainName = (key: unknown): string => toldText(key).replaceAll('_', ' ');
