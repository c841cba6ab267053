import { z } from 'zod';
import {
  hostSettingByKey,
  isSettingValue,
  type SettingValue,
  settingExpectation,
} from '../../agent/host-settings.ts';
import { codec, isJsonObject } from '../../common.ts';
import { body, idParams, tolerantBody } from '../atoms.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';

const settingValue = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const values = z.record(z.string(), settingValue);

const settingsFields = {
  resolved: values.describe('Every setting: the default of the catalog, or what was set for this host.'),
  overrides: values.describe('Only what was set for this host.'),
  effective: z
    .record(z.string(), z.string())
    .nullable()
    .describe('Every setting as its agent says that it is in force, as text; null: never reported.'),
};

export const hostSettings = z
  .object({
    ...settingsFields,
    codecs: z
      .array(codec)
      .nullable()
      .describe('Codecs that the encoder in force makes, by the last report; null: never reported.'),
    pending_restart: z.boolean().describe('Its agent was told to restart and has not come back yet.'),
  })
  .meta({ id: 'HostSettings', description: 'The settings of one host.' });
export type HostSettings = z.output<typeof hostSettings>;

const changedHostSettings = z
  .object({
    ...settingsFields,
    restart_triggered: z.boolean().describe('The agent was told to restart for this change.'),
  })
  .meta({ id: 'ChangedHostSettings', description: 'The settings of one host after a change.' });
export type ChangedHostSettings = z.output<typeof changedHostSettings>;

/** Expected form of an override. It is validated but never copied, so that a key such as `__proto__` is checked too. */
const overrides = z
  .unknown()
  .transform((sent, context): Readonly<Record<string, SettingValue>> => {
    const refuse = (message: string, path: string[] = []) => {
      context.addIssue({ code: 'custom', message, path });
      return z.NEVER;
    };
    if (!isJsonObject(sent)) return refuse('must be an object');
    for (const [key, value] of Object.entries(sent)) {
      const setting = hostSettingByKey.get(key);
      if (setting === undefined) return refuse('no such setting; the config catalog lists them', [key]);
      if (value !== null && !isSettingValue(setting, value))
        return refuse(`expected ${settingExpectation(setting)}`, [key]);
    }
    return sent as Record<string, SettingValue>;
  })
  .meta({ type: 'object', additionalProperties: { type: ['boolean', 'number', 'string', 'null'] } });

const settingsBody = tolerantBody({
  overrides: overrides.describe(
    'Settings of this host by their keys, of the types and bounds of the config catalog. null takes the override away; keys that are left out stay as they are.',
  ),
  restart_confirm: z
    .boolean()
    .optional()
    .describe('End the sessions that run on the host, where the change needs a restart.'),
});

const NO_HOST = 'There is no such host.';
const RESTART_REQUIRED =
  'Sessions run on the host and the restart, which would end them, is not confirmed; `error.live_sessions` says how many.';
const byId = { id: exampleIds.host };
const exampleSettings = {
  resolved: { abr_enabled: true, gop: 120, encoder: 'openh264' },
  overrides: { gop: 120 },
  effective: { abr_enabled: 'true', gop: '120', encoder: 'openh264', home_root: '/srv/homes' },
};

export const hostSettingsOperations = {
  'hostSettings.read': operation({
    id: 'hostSettings.read',
    method: 'GET',
    path: '/v1/admin/hosts/{id}/settings',
    auth: 'admin',
    summary: 'Settings of a host, as they are wanted and as they are in force',
    params: idParams,
    responses: { 200: hostSettings },
    refusals: { not_found: NO_HOST },
    example: {
      params: byId,
      response: { ...exampleSettings, codecs: ['h264'], pending_restart: false },
    },
  }),
  'hostSettings.update': operation({
    id: 'hostSettings.update',
    method: 'PATCH',
    path: '/v1/admin/hosts/{id}/settings',
    auth: 'admin',
    summary: 'Change settings of a host',
    description:
      'What is saved is sent to the agent at once, or when it connects. Settings of class `live` count for sessions that start later; one of class `restart` restarts the agent, which ends its sessions.\n\nOn the agent an override comes before its environment, and that before the default of the catalog.',
    params: idParams,
    body: { schema: settingsBody, unknownKeys: 'ignored' },
    responses: { 200: changedHostSettings },
    refusals: {
      not_found: NO_HOST,
      validation_failed:
        'The settings do not go together, or `home_root` is in no storage that the host has reported.',
      restart_required: RESTART_REQUIRED,
      conflict: 'The change is saved, and the agent that should restart for it could not be reached.',
    },
    example: {
      params: byId,
      body: { overrides: { gop: 120, slices: null } },
      response: { ...exampleSettings, restart_triggered: false },
    },
  }),
  'hosts.restart': operation({
    id: 'hosts.restart',
    method: 'POST',
    path: '/v1/admin/hosts/{id}/restart',
    auth: 'admin',
    summary: 'Restart the agent of a host',
    description:
      'The agent exits and its supervisor starts it again. Sessions on the host end. `pending_restart` of its settings is true until it is back.',
    params: idParams,
    body: {
      schema: body({
        confirm: z.boolean().optional().describe('End the sessions that run on the host.'),
      }),
      optional: true,
    },
    responses: { 200: z.object({ restart_triggered: z.literal(true).describe('The agent was told.') }) },
    refusals: {
      not_found: NO_HOST,
      conflict: 'The host is offline, or its agent did not take the message.',
      restart_required: RESTART_REQUIRED,
    },
    example: { params: byId, body: { confirm: true }, response: { restart_triggered: true } },
  }),
} as const;
