import type { ActivityAction, ActivityEntry } from '@footlight/protocol/rest';
import { toldText } from '../frame/told-text.ts';
import { failureLabel } from '../sessions/story.ts';

const WORDS: Readonly<Record<ActivityAction, string>> = {
  'app.create': 'Added an app',
  'app.update': 'Changed an app',
  'app.delete': 'Deleted an app',
  'app.artwork.set': 'Chose artwork',
  'app.artwork.upload': 'Uploaded artwork',
  'app.artwork.cleared': 'Removed artwork',
  'app.artwork.reresolve': 'Searched for all artwork again',
  'app.entitlement.grant': 'Gave access to an app',
  'app.entitlement.revoke': 'Revoked access to an app',
  'app.entitlement.set_mode': 'Set who may use a launcher',
  'app.library.rule.set': 'Made a rule about a title',
  'app.library.rule.delete': 'Removed a rule about a title',
  'library.scan.force': 'Requested scans of homes',
  'runtime_preset.create': 'Added a runtime preset',
  'runtime_preset.update': 'Changed a runtime preset',
  'runtime_preset.delete': 'Deleted a runtime preset',
  'image.installed': 'Installed an image',
  'image.uninstalled': 'Removed an image',
  'image.pinned': 'Pinned an image',
  'image.unpinned': 'Unpinned an image',
  'image.updated': 'Updated an image',
  'image.synced': 'Fetched the image catalog',
  'stream_profile.create': 'Added a stream profile',
  'stream_profile.update': 'Changed a stream profile',
  'stream_profile.delete': 'Deleted a stream profile',
  'launch_profile.create': 'Added a launch profile',
  'launch_profile.update': 'Changed a launch profile',
  'launch_profile.delete': 'Deleted a launch profile',
  'profile_policy.update': 'Changed the profile policy',
  'job.update': 'Changed a background job',
  'job.run': 'Started a background job',
  'instance.settings.updated': 'Changed settings',
  'instance.secret.set': 'Stored a secret',
  'instance.secret.cleared': 'Removed a secret',
  'user.role_changed': 'Changed a role',
  'user.disabled': 'Disabled an account',
  'user.enabled': 'Enabled an account',
  'user.password_reset_link': 'Made a link to set a password',
  'user.quota_changed': 'Changed a session quota',
  'user.deleted': 'Deleted an account',
  'invite.minted': 'Made an invite',
  'invite.revoked': 'Withdrew an invite',
  'host.enroll': 'Enrolled a host',
  'host.restart': 'Restarted an agent',
  'host.settings.update': 'Changed settings of a host',
  'console.config.update': 'Changed a console',
  'certification.run': 'Began to certify encoders of a host',
  'host.drain': 'Drained a host',
  'host.uncordon': 'Returned a host to service',
  'host.delete': 'Deleted a host',
  'session.launched': 'Launched an app',
  'session.recording.download': 'Downloaded a recording of a session',
  'session.recording.freeze': 'Saved a recording of a session',
  'session.stop': 'Stopped a session',
  'session.capture': 'Made a capture of a session',
  'session.failed': 'A session failed',
  'storage.gc.confirm': 'Allowed a host to delete files of homes',
  'storage.home.tombstone': 'Marked a home for deletion',
  'enrollment_token.create': 'Made an enrollment token',
  'enrollment_token.delete': 'Deleted an enrollment token',
};

/** A newer service may write actions without a label in this page; such an action is shown unchanged. */
export const actionLabel = (action: string): string =>
  Object.hasOwn(WORDS, action) ? WORDS[action as ActivityAction] : action;

/** The most useful details of an action; ids are omitted. */
export function detailLabel({ details }: Pick<ActivityEntry, 'details'>): string {
  if (typeof details.failure_code === 'string') return failureLabel(details.failure_code);
  if (typeof details.state_detail === 'string') return capital(details.state_detail);
  return Object.entries(details)
    .filter(([key, value]) => !/(^|_)id$/.test(key) && value !== null && value !== '' && value !== false)
    .map(([key, value]) => {
      if (key === 'name' || key === 'username' || key === 'node_name') return toldText(value);
      if (Array.isArray(value)) return value.map(plainName).join(', ');
      if (value === true) return plainName(key);
      return `${plainName(key)} ${toldText(value)}`;
    })
    .join(' · ');
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const plainName = (key: unknown): string => toldText(key).replaceAll('_', ' ');
