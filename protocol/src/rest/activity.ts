import { z } from 'zod';
import { MAX_TARGET_TYPE_CHARACTERS } from '../bounds.ts';
import { jsonObject, uuid } from '../common.ts';
import { dateTime, limitOrDefault, string, zonedDateTime } from './atoms.ts';
import { exampleIds } from './example-ids.ts';
import { operation } from './operation.ts';

export const severity = z.enum(['info', 'warn', 'err']);
export type Severity = z.output<typeof severity>;

/** Actions of the activity log, each with the type of its target. */
export const ACTIVITY_ACTIONS = {
  'app.artwork.cleared': 'app',
  'app.artwork.reresolve': 'app',
  'app.artwork.set': 'app',
  'app.artwork.upload': 'app',
  'app.create': 'app',
  'app.delete': 'app',
  'app.entitlement.grant': 'app',
  'app.entitlement.revoke': 'app',
  'app.entitlement.set_mode': 'app',
  'app.library.rule.delete': 'app',
  'app.library.rule.set': 'app',
  'app.update': 'app',
  'backup.delete': 'backup',
  'backup.download': 'backup',
  'certification.run': 'host',
  'console.config.update': 'host',
  'enrollment_token.create': 'enrollment_token',
  'enrollment_token.delete': 'enrollment_token',
  'host.delete': 'host',
  'host.drain': 'host',
  'host.enroll': 'host',
  'host.preflight': 'host',
  'host.restart': 'host',
  'host.settings.update': 'host',
  'host.uncordon': 'host',
  'image.installed': 'image',
  'image.pinned': 'image',
  'image.synced': 'image',
  'image.uninstalled': 'image',
  'image.unpinned': 'image',
  'image.updated': 'image',
  'instance.secret.cleared': 'secret',
  'instance.secret.set': 'secret',
  'instance.settings.updated': 'instance',
  'invite.minted': 'invite',
  'invite.revoked': 'invite',
  'job.run': 'job',
  'job.update': 'job',
  'launch_profile.create': 'launch_profile',
  'launch_profile.delete': 'launch_profile',
  'launch_profile.update': 'launch_profile',
  'library.scan.force': 'library',
  'profile_policy.update': 'instance',
  'runtime_preset.create': 'runtime_preset',
  'runtime_preset.delete': 'runtime_preset',
  'runtime_preset.update': 'runtime_preset',
  'session.capture': 'session',
  'session.failed': 'session',
  'session.launched': 'session',
  'session.recording.download': 'session',
  'session.recording.freeze': 'session',
  'session.guest_removed': 'session',
  'session.shared': 'session',
  'session.stop': 'session',
  'storage.gc.confirm': 'host',
  'storage.home.tombstone': 'storage_home',
  'stream_profile.create': 'stream_profile',
  'stream_profile.delete': 'stream_profile',
  'stream_profile.update': 'stream_profile',
  'user.deleted': 'user',
  'user.disabled': 'user',
  'user.enabled': 'user',
  'user.linked': 'user',
  'user.password_reset_link': 'user',
  'user.quota_changed': 'user',
  'user.role_changed': 'user',
} as const;
export type ActivityAction = keyof typeof ACTIVITY_ACTIONS;

/** An action of an account or of the service. */
export const activityEntry = z
  .object({
    id: z.int().describe('Number of the entry, int64; later entries have higher ones.'),
    actor_user_id: z
      .string()
      .nullable()
      .describe('Account that did it; null for what the service does by itself.'),
    actor_username: z
      .string()
      .nullable()
      .describe('Its present name; null without an actor and once the account is deleted.'),
    action: z.string().describe('What was done, such as `app.create`. The vocabulary is open.'),
    target_type: z.string().describe('What kind of thing it was done to. The vocabulary is open.'),
    target_id: z.string().nullable().describe('Id or name of that thing; null where there is none.'),
    details: jsonObject
      .meta({ type: 'object' })
      .describe(
        'Ids, names, counts and changed keys, never values; {truncated: true} in place of more than 4096 bytes.',
      ),
    created_at: dateTime.describe('Time at which it was done.'),
    severity: severity.describe('How much it deserves a look, derived from the action.'),
  })
  .meta({ id: 'ActivityEntry', description: 'Something that was changed, by whom and when.' });
export type ActivityEntry = z.output<typeof activityEntry>;

/** Number of entries that fill a screen, and the largest number that a person can scan. Chosen, not measured. */
const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 100;
const MAX_INT64 = 2n ** 63n - 1n;

/** A 64-bit integer. Ids are much smaller than the largest exact number of JavaScript, so larger values are clamped. */
const cursor = z
  .string()
  .refine(
    (text) => /^-?[0-9]{1,19}$/.test(text) && BigInt(text) <= MAX_INT64 && BigInt(text) >= -MAX_INT64 - 1n,
    { error: 'must be an integer' },
  )
  .transform((text) => Math.min(Math.max(Number(text), -1), Number.MAX_SAFE_INTEGER))
  .meta({ type: 'integer', format: 'int64' });

export const activityQuery = z.object({
  limit: limitOrDefault(DEFAULT_LIMIT, MAX_LIMIT),
  cursor: cursor.optional().describe('Entries with a lower id than this; left out: from the newest.'),
  action: string({ max: 128 }).optional().describe('Beginning of the action, such as `host.`.'),
  actor_user_id: uuid.optional().describe('Only what this account did.'),
  target_type: string({ max: MAX_TARGET_TYPE_CHARACTERS })
    .optional()
    .describe('Only what was done to this kind of thing.'),
  since: zonedDateTime.optional().describe('Only what was done at this time or later.'),
  until: zonedDateTime.optional().describe('Only what was done before this time.'),
  target_id: string({ max: 128 })
    .optional()
    .describe('Only what was done to the thing with exactly this id or name.'),
  q: string({ max: 128 })
    .optional()
    .describe('Part of the action, of the target id or of the name of the actor, whatever its case.'),
});
export type ActivityQuery = z.output<typeof activityQuery>;

export const activityOperations = {
  'activity.list': operation({
    id: 'activity.list',
    method: 'GET',
    path: '/v1/admin/activity',
    auth: 'admin',
    summary: 'What was done in the instance, newest first',
    query: activityQuery,
    responses: {
      200: z.object({
        items: z.array(activityEntry).describe('The entries of this page.'),
        next_cursor: z.int().nullable().describe('`cursor` of the next page, int64; null on the last one.'),
      }),
    },
    example: {
      query: { action: 'app.', limit: '1' },
      response: {
        items: [
          {
            id: 1207,
            actor_user_id: exampleIds.admin,
            actor_username: 'admin',
            action: 'app.delete',
            target_type: 'app',
            target_id: exampleIds.app,
            details: { name: 'SuperTux', delete_derived: false },
            created_at: '2026-06-02T12:00:00.000Z',
            severity: 'warn',
          },
        ],
        next_cursor: 1207,
      },
    },
  }),
} as const;
