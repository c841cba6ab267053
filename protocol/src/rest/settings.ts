import { z } from 'zod';
import { body, dateTime, int32 } from './atoms.ts';
import { exampleIds } from './example-ids.ts';
import { operation } from './operation.ts';

/** Settings of the instance, with their rules. */
const settingFields = {
  registration_mode: z
    .enum(['closed', 'invite_only', 'open'])
    .describe('Who may register: nobody, holders of an invite, or everybody. In force at once.'),
  storage_provider: z
    .enum(['auto', 'local', 'volume'])
    .describe('Where homes of later sessions lie; with volume, library discovery finds nothing.'),
  library_discovery_enabled: z
    .boolean()
    .describe('Games that are installed in homes become apps by themselves.'),
  library_discovery_interval_minutes: int32(15, 10_080).describe('Minutes between two library scans.'),
  library_discovery_appdetails_enabled: z
    .boolean()
    .describe('Ask the store for names and descriptions of the games that were found.'),
  mic_capture_enabled: z.boolean().describe('Sessions may take the microphone of their viewer.'),
  guest_sharing_enabled: z
    .boolean()
    .describe(
      'People may invite guests without an account to their running sessions, by a link. false ends all links.',
    ),
  image_update_policy: z
    .enum(['manual', 'notify', 'auto'])
    .describe('What happens when a newer image is published: nothing, a note, or the update.'),
  flight_recorder_enabled: z.boolean().describe('Running sessions keep a record of their last moments.'),
};

const ORIGINS_RULE =
  'Pages of these origins may open sessions in addition to those of this server, each as `https://host[:port]`';

export const instanceSettings = z
  .object({
    ...settingFields,
    allowed_origins: z
      .array(z.string())
      .describe(`${ORIGINS_RULE}. The stored list, also while SERVICE_ALLOWED_ORIGINS replaces it.`),
    updated_by: z
      .string()
      .nullable()
      .describe('Account that changed a setting last; null when none has, or it is gone.'),
    updated_at: dateTime.describe('Time of the last change; of the first start until there is one.'),
  })
  .meta({ id: 'InstanceSettings', description: 'Settings of the whole instance.' });
export type InstanceSettings = z.output<typeof instanceSettings>;

/** Entries are texts. The server decides which of them are origins, and its refusal contains the position. */
const originTexts = z
  .array(z.unknown())
  .transform((entries, context): string[] => {
    const wrong = entries.findIndex((entry) => typeof entry !== 'string');
    if (wrong === -1) return entries as string[];
    context.addIssue({ code: 'custom', message: `entry ${wrong + 1} is no text` });
    return z.NEVER;
  })
  .meta({ items: { type: 'string' } });

const changeBody = body({
  ...z.object(settingFields).partial().shape,
  allowed_origins: originTexts
    .optional()
    .describe(
      `${ORIGINS_RULE}, without a path. Blanks are dropped, duplicates collapse, at most 64 remain; [] clears the list.`,
    ),
});
export type SettingsPatch = z.output<typeof changeBody>;

const answer = z.object({ settings: instanceSettings.describe('The settings as they are now.') });

/** A host setting with the data that forms need. */
export const configSetting = z
  .object({
    key: z.string().describe('Name of the setting in host overrides.'),
    type: z.enum(['bool', 'int', 'float', 'enum', 'string']).describe('What kind of value it takes.'),
    default: z
      .union([z.string(), z.number(), z.boolean(), z.null()])
      .describe('Value where neither the host nor its environment says another; null is none.'),
    min: z.number().optional().describe('Smallest value, included; left out where there is no bound.'),
    max: z.number().optional().describe('Largest value, included; left out where there is no bound.'),
    enum: z.array(z.string()).optional().describe('The values of an enum; left out for other types.'),
    nullable: z.boolean().describe('null is a value of it.'),
    class: z
      .enum(['live', 'restart'])
      .describe('live: counts for sessions that start later. restart: counts when the agent starts.'),
    env_var: z.string().describe("Variable of the agent's environment that sets it."),
  })
  .meta({ id: 'ConfigKnob', description: 'A setting that hosts have.' });
export type ConfigSetting = z.output<typeof configSetting>;

const example = {
  registration_mode: 'invite_only',
  storage_provider: 'auto',
  library_discovery_enabled: false,
  library_discovery_interval_minutes: 360,
  library_discovery_appdetails_enabled: false,
  mic_capture_enabled: false,
  guest_sharing_enabled: true,
  image_update_policy: 'notify',
  flight_recorder_enabled: false,
  allowed_origins: ['https://play.example'],
  updated_by: exampleIds.admin,
  updated_at: '2026-06-02T12:00:00.000Z',
};

export const settingsOperations = {
  'settings.read': operation({
    id: 'settings.read',
    method: 'GET',
    path: '/v1/admin/settings',
    auth: 'admin',
    summary: 'Settings of the instance',
    responses: { 200: answer },
    example: { response: { settings: example } },
  }),
  'settings.update': operation({
    id: 'settings.update',
    method: 'PATCH',
    path: '/v1/admin/settings',
    auth: 'admin',
    summary: 'Change any of the settings, all of them or none',
    body: { schema: changeBody },
    responses: { 200: answer },
    example: {
      body: { registration_mode: 'invite_only', allowed_origins: ['https://Play.example:443'] },
      response: { settings: example },
    },
  }),
  'configCatalog.read': operation({
    id: 'configCatalog.read',
    method: 'GET',
    path: '/v1/admin/config/catalog',
    auth: 'admin',
    summary: 'Every host setting with its type, default and bounds',
    responses: {
      200: z.object({ knobs: z.array(configSetting).describe('All host settings, in the order of forms.') }),
    },
    example: {
      response: {
        knobs: [
          {
            key: 'abr_floor_kbps',
            type: 'int',
            default: null,
            min: 1,
            nullable: true,
            class: 'live',
            env_var: 'SERVICE_ABR_FLOOR_KBPS',
          },
        ],
      },
    },
  }),
} as const;
