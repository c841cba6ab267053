import { z } from 'zod';
import {
  EXTERNAL_ID_PATTERN,
  MAX_SCAN_REPORT_BYTES,
  scanPendingSchema,
  scanReportSchema,
} from '../../agent/library-scans.ts';
import { uuid } from '../../common.ts';
import { body, dateTime, idParams, string, tolerantBody } from '../atoms.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';

const SMALL_BODY_BYTES = 64 * 1024;
/** Upper bound of a title's id, exclusive: Steam's ids have 32 bits. */
const EXTERNAL_ID_END = 2 ** 32;
/**
 * Largest number of JSON values in a report. The longest report, 10,000 entries with five members each, has 60,000
 * separators and brackets, which is more than MAX_JSON_VALUES. Such a report of 4 MiB is parsed in 20 ms. Chosen with a
 * margin above 60,000.
 */
const MAX_REPORT_VALUES = 65_536;

const externalId = string().regex(EXTERNAL_ID_PATTERN, 'must be a whole number from 1 up');
const source = z.enum(['steam']);
const rule = z.enum(['ignore', 'allow']);

/** An id of a scope; null, "" and a missing id mean no scope. */
const scopeId = z
  .union([uuid, z.literal(''), z.null()])
  .optional()
  .transform((value) => value || null)
  .meta({ type: ['string', 'null'], format: 'uuid' });

const counter = (what: string) => z.int().describe(`${what} (count).`);

export const libraryRule = z
  .object({
    external_source: z.string().describe('Where external_id comes from.'),
    external_id: z.string().describe('Id of the title, decimal.'),
    rule: rule.describe('ignore: never a tile. allow: a tile whatever the built-in rules say.'),
    note: z.string().describe('Why, for other administrators; "" is none.'),
    created_by: z.string().nullable().describe('Account that set it last; null once the account is deleted.'),
    created_at: dateTime.describe('Time at which it was set last.'),
  })
  .meta({ id: 'LibraryRule', description: "An administrator's decision about a title of a library." });
export type LibraryRule = z.output<typeof libraryRule>;

export const unpublishedTitle = z
  .object({
    external_source: z.string().describe('Where external_id comes from.'),
    external_id: z.string().describe('Id of the title, decimal.'),
    name: z.string().describe('Its name in the homes; "" while no manifest could be read.'),
    suppressed_by: z
      .enum(['rule_ignore', 'builtin_appid', 'builtin_prefix', 'appdetails', 'other'])
      .describe(
        'Why it has no enabled tile: a rule, the built-in list of ids or of names, the answer of the store, or something else, such as a tile that was disabled by hand or a title that is still downloading.',
      ),
    users: counter('People who have it'),
    last_seen_at: dateTime.describe('Time of the newest report that had it.'),
    has_tile: z.boolean().describe('Whether there is a tile, which is disabled then.'),
  })
  .meta({ id: 'UnpublishedTitle', description: 'A title in homes without an enabled tile.' });
export type UnpublishedTitle = z.output<typeof unpublishedTitle>;

const recentScan = z.object({
  user: z.string().describe('User name of the owner of the home.'),
  host: z.string().describe('Node name of the host.'),
  state: z.enum(['reported', 'failed']).describe('How the scan ended.'),
  completed_at: dateTime.describe('Time of its end.'),
  observed: counter('Titles found'),
  suppressed: counter('Titles that are not published'),
  created: counter('New tiles'),
  disabled: counter('Tiles that were disabled'),
  granted: counter('New entitlements'),
  revoked: counter('Entitlements that were taken away'),
  rejected: counter('Entries without a valid id'),
  backfilled: counter('Descriptions that were filled in'),
  error: z.string().describe('What could not be read; "" is nothing.'),
});

export const libraryStatus = z
  .object({
    enabled: z.boolean().describe('The switch in the settings.'),
    storage_provider: z.string().describe('Where homes lie; volumes are not scanned.'),
    scan_interval_secs: z.int().describe('Seconds between two scans of a home, in force; 0 is never.'),
    appdetails_lookup: z.boolean().describe('Whether the store is asked about titles, in force.'),
    interval_overridden_by_env: z
      .boolean()
      .describe('SERVICE_LIBRARY_SCAN_INTERVAL is set, so the setting of the interval has no effect.'),
    appdetails_overridden_by_env: z
      .boolean()
      .describe('SERVICE_STEAM_APPDETAILS_LOOKUP is set, so the setting of the lookup has no effect.'),
    last_scan_completed_at: dateTime
      .nullable()
      .describe('End of the newest scan with a report; null is none.'),
    recent_scans: z.array(recentScan).describe('At most 20 ended scans, newest first.'),
    inert_reason: z.string().describe('Why discovery does nothing, for people; "" when it works.'),
    scans: z
      .object({
        pending: counter('Waiting for their host'),
        claimed: counter('Being made'),
        reported: counter('Ended with a report'),
        failed: counter('Ended without one'),
      })
      .describe('Stored scans by state.'),
  })
  .meta({ id: 'LibraryStatus', description: 'What library discovery does, and why it may do nothing.' });
export type LibraryStatus = z.output<typeof libraryStatus>;

const ruleParams = z.object({
  id: uuid.describe('Id of the provider app.'),
  external_id: externalId.describe('Id of the title, decimal.'),
});
const newRuleParams = z.object({
  id: uuid.describe('Id of the provider app.'),
  external_id: externalId
    .refine((text) => Number(text) < EXTERNAL_ID_END, { error: 'must be below 2^32' })
    .describe('Id of the title, decimal, below 2^32.'),
});

const NO_APP = 'There is no such app.';
const NO_PROVIDER = 'The app is no library provider.';
const NOT_A_SCAN =
  'The node credential is wrong, or there is no such scan, or it is of another host: the answers are the same.';

const exampleRule = {
  external_source: 'steam',
  external_id: '228980',
  rule: 'ignore',
  note: 'Redistributables',
  created_by: exampleIds.admin,
  created_at: '2026-11-22T12:00:00.000Z',
} as const;
const SCAN_ID = '41c1b8f2-6a0d-4d9c-9f2e-7b3a5c8d1e04';

export const libraryOperations = {
  'library.status': operation({
    id: 'library.status',
    method: 'GET',
    path: '/v1/admin/library/status',
    auth: 'admin',
    summary: 'What library discovery does, and why it may do nothing',
    responses: { 200: libraryStatus },
    example: {
      response: {
        enabled: true,
        storage_provider: 'auto',
        scan_interval_secs: 21_600,
        appdetails_lookup: false,
        interval_overridden_by_env: false,
        appdetails_overridden_by_env: false,
        last_scan_completed_at: '2026-11-22T12:00:00.000Z',
        recent_scans: [
          {
            user: 'alice',
            host: 'render-1',
            state: 'reported',
            completed_at: '2026-11-22T12:00:00.000Z',
            observed: 12,
            suppressed: 3,
            created: 2,
            disabled: 0,
            granted: 2,
            revoked: 0,
            rejected: 0,
            backfilled: 0,
            error: '',
          },
        ],
        inert_reason: '',
        scans: { pending: 0, claimed: 1, reported: 40, failed: 1 },
      },
    },
  }),
  'library.scan': operation({
    id: 'library.scan',
    method: 'POST',
    path: '/v1/admin/library/scan',
    auth: 'admin',
    summary: 'Scan homes now, without waiting for the interval',
    description:
      'A home with an open scan is skipped, so the call may be repeated. An instance on which discovery does nothing answers 200 with the reason, before it looks at the scope.',
    body: {
      schema: tolerantBody({
        app_id: scopeId.describe('Only homes of this provider app; null, "" or left out: of all.'),
        user_id: scopeId.describe('Only homes of this account; null, "" or left out: of all.'),
      }),
      maxBytes: SMALL_BODY_BYTES,
      optional: true,
      unknownKeys: 'ignored',
    },
    responses: {
      200: z.object({
        queued: counter('Scans that this call added'),
        skipped: counter('Homes that had an open scan'),
        eligible: counter('Homes of the scope, queued and skipped together'),
        inert_reason: z
          .string()
          .describe('Why the call could do nothing, for people; "" when it could. Not for programs.'),
      }),
    },
    refusals: { not_found: NO_APP, validation_failed: NO_PROVIDER },
    example: {
      body: { app_id: exampleIds.app },
      response: { queued: 2, skipped: 1, eligible: 3, inert_reason: '' },
    },
  }),
  'libraryUnpublished.list': operation({
    id: 'libraryUnpublished.list',
    method: 'GET',
    path: '/v1/admin/apps/{id}/library/unpublished',
    auth: 'admin',
    summary: 'Titles in homes of a provider app that have no enabled tile, last seen first',
    params: idParams,
    responses: { 200: z.object({ items: z.array(unpublishedTitle).describe('All of them.') }) },
    refusals: { not_found: NO_APP, validation_failed: NO_PROVIDER },
    example: {
      params: { id: exampleIds.app },
      response: {
        items: [
          {
            external_source: 'steam',
            external_id: '228980',
            name: 'Steamworks Common Redistributables',
            suppressed_by: 'builtin_appid',
            users: 3,
            last_seen_at: '2026-11-22T12:00:00.000Z',
            has_tile: false,
          },
        ],
      },
    },
  }),
  'libraryRules.list': operation({
    id: 'libraryRules.list',
    method: 'GET',
    path: '/v1/admin/apps/{id}/library/rules',
    auth: 'admin',
    summary: 'Rules about titles of a provider app, newest first',
    params: idParams,
    responses: { 200: z.object({ items: z.array(libraryRule).describe('All of them.') }) },
    refusals: { not_found: NO_APP, validation_failed: NO_PROVIDER },
    example: { params: { id: exampleIds.app }, response: { items: [exampleRule] } },
  }),
  'libraryRules.set': operation({
    id: 'libraryRules.set',
    method: 'PUT',
    path: '/v1/admin/apps/{id}/library/rules/{external_id}',
    auth: 'admin',
    summary: 'Decide about a title, in place of an earlier rule',
    description:
      'ignore disables the tile at once and takes back what discovery granted. allow stores the rule only: a disabled tile stays disabled.',
    params: newRuleParams,
    body: {
      schema: body({
        rule: rule.describe('ignore: never a tile. allow: a tile whatever the built-in rules say.'),
        note: string().optional().describe('Why; cut after 512 characters. Left out is none.'),
        external_source: source.optional().describe('Where external_id comes from; left out is steam.'),
      }),
      maxBytes: SMALL_BODY_BYTES,
    },
    responses: {
      200: z.object({
        rule: libraryRule.describe('The rule as stored.'),
        disabled: z.boolean().describe('Whether a tile was disabled.'),
        revoked: counter('Entitlements of discovery that were taken away'),
      }),
    },
    refusals: { not_found: NO_APP, validation_failed: NO_PROVIDER },
    example: {
      params: { id: exampleIds.app, external_id: '228980' },
      body: { rule: 'ignore', note: 'Redistributables' },
      response: { rule: exampleRule, disabled: true, revoked: 3 },
    },
  }),
  'libraryRules.delete': operation({
    id: 'libraryRules.delete',
    method: 'DELETE',
    path: '/v1/admin/apps/{id}/library/rules/{external_id}',
    auth: 'admin',
    summary: 'Remove a rule; the next scan decides without it',
    params: ruleParams,
    query: z.object({
      external_source: source.optional().describe('Where external_id comes from; left out is steam.'),
    }),
    responses: { 204: null },
    refusals: { not_found: 'There is no such app, or no such rule of it.', validation_failed: NO_PROVIDER },
    example: { params: { id: exampleIds.app, external_id: '228980' } },
  }),
  'agent.library.scanPending': operation({
    id: 'agent.library.scanPending',
    method: 'GET',
    path: '/v1/agent/library/scan-pending',
    auth: 'node',
    summary: 'A host claims scans of its homes',
    description:
      'What the same process (`X-Service-Boot`) claimed more than 60 s ago and has not reported is in the answer again.',
    responses: { 200: scanPendingSchema },
    example: {
      response: {
        scans: [
          {
            scan_id: SCAN_ID,
            root_path: '/var/lib/service-agent/homes/alice-7f9c24e8/steam-5a4f3c52',
            container_path: '/home/service',
            relative_roots: ['.local/share/Steam/steamapps', '.steam/steam/steamapps'],
            max_entries: 10_000,
            max_manifest_bytes: 1_048_576,
          },
        ],
      },
    },
  }),
  'agent.library.scanReport': operation({
    id: 'agent.library.scanReport',
    method: 'POST',
    path: '/v1/agent/library/scan-report',
    auth: 'node',
    summary: 'A host reports what a scan found',
    body: {
      schema: scanReportSchema,
      maxBytes: MAX_SCAN_REPORT_BYTES,
      maxValues: MAX_REPORT_VALUES,
      unknownKeys: 'ignored',
    },
    responses: { 200: z.object({ accepted: z.literal(true).describe('Always true.') }) },
    refusals: { unauthorized: NOT_A_SCAN, conflict: 'The scan is not claimed, or has ended.' },
    example: {
      body: {
        scan_id: SCAN_ID,
        ok: true,
        complete: true,
        error: null,
        entries: [
          {
            external_id: '440',
            name: 'Team Fortress 2',
            install_dir: 'Team Fortress 2',
            size_on_disk: 26_843_545_600,
            state_flags: 4,
          },
        ],
      },
      response: { accepted: true },
    },
  }),
} as const;
