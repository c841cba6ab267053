import { z } from 'zod';
import { MAX_DEVICE_NAME_CHARACTERS } from '../../bounds.ts';
import { isJsonObject, type JsonObject, jsonObject, uuid } from '../../common.ts';
import { body, dateTime, idParams, string, tolerantBody } from '../atoms.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';
import { passwordRules } from './accounts.ts';

const KIB = 1024;

const passwordBody = body({
  current_password: string()
    .nullish()
    .describe('The password in force. Null or left out counts as a wrong one.'),
  new_password: string().describe(`${passwordRules} It may be the one in force.`),
});

/**
 * Measurements of a client. They are stored as a whole and limited by the service. A value of the wrong type counts as
 * not measured.
 */
const capabilities = z
  .custom<JsonObject>(isJsonObject, { error: 'must be an object' })
  .meta({ type: 'object', additionalProperties: true });

/** A browser or program with which a person signs in. */
export const device = z
  .object({
    id: z.string().describe('Id of the device, which paths take.'),
    device_key: z
      .string()
      .describe('Opaque id that the client made for itself; one device per person and key.'),
    name: z.string().nullable().describe('Name that the owner gave it; null: none yet.'),
    trusted: z.boolean().describe('The owner marked it as trusted. Grants nothing.'),
    first_seen_at: dateTime.describe('When it first signed in or posted a measurement.'),
    last_seen_at: dateTime.describe('When it last did either.'),
    current: z.boolean().describe('The token of this request is bound to it.'),
    active_session_id: z
      .string()
      .nullable()
      .describe('Newest session launched from it that has not ended; null where there is none.'),
    capabilities: capabilities.describe(
      'What it last measured, with the time in `measured_at`; `{}` until it posts a measurement.',
    ),
  })
  .meta({ id: 'Device', description: 'A browser or program that a person signs in from.' });
export type Device = z.output<typeof device>;

const deviceProbeBody = tolerantBody({
  device_key: string({ min: 1, max: 256 }).describe(
    'Opaque id that the client made for this browser or device.',
  ),
  capabilities: capabilities
    .nullish()
    .describe(
      'What the client measured; replaces what was stored, and is cut to 8 levels, 64 members and 512 characters. Null or left out: nothing.',
    ),
});

const deviceSeen = z
  .object({
    id: z.string().describe('Id of the device.'),
    first_seen_at: dateTime.describe('When it was first seen.'),
    last_seen_at: dateTime.describe('When it was last seen: now.'),
  })
  .describe('The device, new or known.');

const deviceUpdateBody = body({
  name: string({ max: MAX_DEVICE_NAME_CHARACTERS })
    .nullish()
    .describe('New name, "" included. Null or left out: the name stays.'),
  trusted: z.boolean().nullish().describe("The owner's mark. Null or left out: it stays."),
});

const stripPreset = z.enum(['full', 'minimal', 'metrics', 'custom']);
const stripPosition = z.enum(['top', 'bottom', 'left', 'right']);
const stripAutoHide = z.enum(['on_capture', 'always_visible', 'never_visible']);
const stripItem = z.boolean().optional();

/** All settings of the bar over a running session. Other keys are refused; values are never adapted. */
export const sessionOverlay = body({
  strip_preset: stripPreset.optional().describe('Which set of items the strip shows.'),
  strip_position: stripPosition.optional().describe('Edge of the picture that the strip lies on.'),
  strip_auto_hide: stripAutoHide.optional().describe('When the strip hides itself.'),
  strip_items: body({
    signal: stripItem.describe('Strength of the connection.'),
    identity: stripItem.describe('Names of the app and the host.'),
    codec: stripItem.describe('Codec and picture size.'),
    metrics: stripItem.describe('Frame rate, bitrate and delays.'),
    hint: stripItem.describe('How to leave the captured pointer.'),
    capture: stripItem.describe('Button that captures pointer and keyboard.'),
    exit: stripItem.describe('Button that leaves the session.'),
    mic: stripItem.describe('Button of the microphone.'),
    fullscreen: stripItem.describe('Button of the full screen.'),
  })
    .optional()
    .describe('Items of the custom strip, replaced as a whole. One that is left out is visible.'),
}).meta({
  id: 'SessionOverlay',
  description: 'Settings of the strip over a running session. No other keys and values are taken.',
});

/** The stored document. session_overlay is always present; other keys belong to the client. */
export const uiPreferences = z
  .looseObject({
    session_overlay: sessionOverlay.describe('Settings of the strip; `{}` where none are stored.'),
  })
  .meta({
    id: 'UiPreferences',
    description:
      'Settings of the web client, with whatever other keys it stored. The service never acts on them.',
  });
export type UiPreferences = z.output<typeof uiPreferences>;

/** Validated but never copied, so that a key such as `__proto__` stays data. */
const uiPreferencesBody = jsonObject
  .superRefine((document, context) => {
    const { session_overlay } = document;
    if (session_overlay === undefined || session_overlay === null) return;
    const checked = sessionOverlay.safeParse(session_overlay);
    for (const issue of checked.error?.issues ?? []) {
      context.addIssue({
        code: 'custom',
        path: ['session_overlay', ...issue.path],
        message: issue.message,
      });
    }
  })
  .meta({
    type: 'object',
    properties: {
      session_overlay: {
        type: 'object',
        description:
          'Settings of the strip, as the answer shows them: each key that is here replaces that key. Null or left out: all stay.',
      },
    },
    additionalProperties: true,
    description: 'Every other key replaces the stored value of that key as it is, null included.',
  });

const storageItem = z
  .object({
    app_id: z.string().describe('The app that owns the files.'),
    app_name: z.string().describe('Name of that app.'),
    bytes_used: z.int().describe('Bytes that its homes take on all hosts, as last measured.'),
    last_used_at: dateTime.nullable().describe('When one of them was last used; null where none was.'),
  })
  .meta({ id: 'StorageItem', description: 'What the files of one app take.' });

export const highlightReasons = ['live', 'most_played', 'resume', 'recently_added'] as const;
const highlight = z
  .object({
    app_id: z.string().describe('The app.'),
    reason: z
      .enum(highlightReasons)
      .describe('Why it is here. More reasons may come; show an unknown one without a label.'),
    session_id: z.string().nullable().describe('The live session; null for every other reason.'),
    session_started_at: dateTime
      .nullable()
      .describe('When the live session started; null while it has not, and for every other reason.'),
    play_seconds: z.int().describe('Whole seconds that the caller played it within the window.'),
    last_played_at: dateTime.nullable().describe('When the caller last stopped playing it; null: never.'),
  })
  .meta({ id: 'Highlight', description: 'An app that the caller is probably looking for.' });
export type Highlight = z.output<typeof highlight>;

/** Number of days of play history that are used: one week by default, at most three months. Chosen, not measured. */
const DEFAULT_WINDOW_DAYS = 7;
const MAX_WINDOW_DAYS = 90;
const windowDays = z
  .string()
  .refine((text) => /^[0-9]*$/.test(text), { error: 'must be a whole number' })
  .optional()
  .transform((text) => (text === undefined || text === '' ? DEFAULT_WINDOW_DAYS : Number(text)))
  .refine((days) => days >= 1 && days <= MAX_WINDOW_DAYS, { error: `must be 1 to ${MAX_WINDOW_DAYS}` })
  .meta({ type: 'integer', minimum: 1, maximum: MAX_WINDOW_DAYS, default: DEFAULT_WINDOW_DAYS })
  .describe('Days of play history that count, back from now. Empty counts as left out.');

const favouriteParams = z.object({ app_id: uuid.describe('Id of the app.') });

const exampleDevice = {
  id: exampleIds.device,
  device_key: 'b1f0c9',
  name: 'Living room',
  trusted: true,
  first_seen_at: '2026-05-01T09:30:00.000Z',
  last_seen_at: '2026-06-02T12:00:00.000Z',
  current: true,
  active_session_id: null,
  capabilities: { bandwidth_kbps: 48_000, rtt_ms: 7, measured_at: '2026-06-02T12:00:00.000Z' },
};

export const meOperations = {
  'me.password': operation({
    id: 'me.password',
    method: 'POST',
    path: '/v1/me/password',
    auth: 'user',
    summary: 'Change the password and sign out everywhere',
    body: { schema: passwordBody },
    responses: { 204: null },
    refusals: {
      rate_limited:
        'Five changes were tried in a row, one more is possible every 10 s; or too many passwords wait to be hashed.',
      validation_failed:
        'The new password is too short, too long, a common one, or holds the username or email.',
      conflict: 'The account has no password, because its owner signs in with the identity provider.',
      invalid_credentials: 'The current password is wrong.',
    },
    example: {
      body: { current_password: 'correct horse battery', new_password: 'violet lantern parade' },
    },
  }),
  'devices.list': operation({
    id: 'devices.list',
    method: 'GET',
    path: '/v1/me/devices',
    auth: 'user',
    summary: "The caller's devices, the one seen last first",
    responses: { 200: z.object({ devices: z.array(device).describe('All of them.') }) },
    example: {
      response: {
        devices: [exampleDevice],
      },
    },
  }),
  'devices.probe': operation({
    id: 'devices.probe',
    method: 'POST',
    path: '/v1/me/devices',
    auth: 'user',
    summary: 'Post what a device measured, new or known',
    body: { schema: deviceProbeBody, maxBytes: 8 * KIB, unknownKeys: 'ignored' },
    responses: { 200: z.object({ device: deviceSeen }) },
    refusals: {
      rate_limited: 'Five measurements were posted in a row; one more is possible every 10 s.',
    },
    example: {
      body: {
        device_key: 'b1f0c9',
        capabilities: {
          client_type: 'web',
          bandwidth_kbps: 48_000,
          rtt_ms: 7,
          max_decode_height: 2160,
          codecs: { h264: true, hevc: false, av1: true },
          display: { width: 2560, height: 1440, refresh_hz: 144 },
        },
      },
      response: {
        device: {
          id: exampleIds.device,
          first_seen_at: '2026-05-01T09:30:00.000Z',
          last_seen_at: '2026-06-02T12:00:00.000Z',
        },
      },
    },
  }),
  'devices.update': operation({
    id: 'devices.update',
    method: 'PATCH',
    path: '/v1/me/devices/{id}',
    auth: 'user',
    summary: 'Name a device, or mark it as trusted',
    params: idParams,
    body: { schema: deviceUpdateBody, maxBytes: 8 * KIB },
    responses: { 200: z.object({ device }) },
    refusals: { forbidden: 'The caller has no device of this id.' },
    example: {
      params: { id: exampleIds.device },
      body: { name: 'Living room', trusted: true },
      response: {
        device: exampleDevice,
      },
    },
  }),
  'devices.delete': operation({
    id: 'devices.delete',
    method: 'DELETE',
    path: '/v1/me/devices/{id}',
    auth: 'user',
    summary: 'Sign a device out, forget it and stop its sessions',
    params: idParams,
    responses: { 204: null },
    refusals: { forbidden: 'The caller has no device of this id.' },
    example: { params: { id: exampleIds.device } },
  }),
  'uiPreferences.read': operation({
    id: 'uiPreferences.read',
    method: 'GET',
    path: '/v1/me/ui-preferences',
    auth: 'user',
    summary: "The caller's settings of the web client",
    responses: { 200: uiPreferences },
    example: { response: { session_overlay: { strip_position: 'top' }, library_view: 'grid' } },
  }),
  'uiPreferences.update': operation({
    id: 'uiPreferences.update',
    method: 'PATCH',
    path: '/v1/me/ui-preferences',
    auth: 'user',
    summary: 'Change settings of the web client, key by key',
    body: { schema: uiPreferencesBody, maxBytes: 64 * KIB, unknownKeys: 'kept' },
    responses: { 200: uiPreferences },
    refusals: { validation_failed: 'The whole document would be longer than 64 KiB.' },
    example: {
      body: { session_overlay: { strip_position: 'bottom' } },
      response: { session_overlay: { strip_position: 'bottom' }, library_view: 'grid' },
    },
  }),
  'storage.readOwn': operation({
    id: 'storage.readOwn',
    method: 'GET',
    path: '/v1/me/storage',
    auth: 'user',
    summary: "What the caller's files take, by app",
    responses: { 200: z.object({ items: z.array(storageItem).describe('By name of the app.') }) },
    example: {
      response: {
        items: [
          {
            app_id: exampleIds.app,
            app_name: 'SuperTux',
            bytes_used: 73_400_320,
            last_used_at: '2026-06-02T12:00:00.000Z',
          },
        ],
      },
    },
  }),
  'highlights.list': operation({
    id: 'highlights.list',
    method: 'GET',
    path: '/v1/me/highlights',
    auth: 'user',
    summary: 'Up to five apps that the caller is probably looking for, best first',
    query: z.object({ window_days: windowDays }),
    responses: {
      200: z.object({ items: z.array(highlight).describe('Keep this order. Empty without any history.') }),
    },
    example: {
      query: { window_days: '30' },
      response: {
        items: [
          {
            app_id: exampleIds.app,
            reason: 'live',
            session_id: exampleIds.session,
            session_started_at: '2026-06-02T11:40:00.000Z',
            play_seconds: 1200,
            last_played_at: null,
          },
        ],
      },
    },
  }),
  'favourites.add': operation({
    id: 'favourites.add',
    method: 'PUT',
    path: '/v1/me/favourites/{app_id}',
    auth: 'user',
    summary: 'Mark an app as a favourite',
    params: favouriteParams,
    responses: { 204: null },
    refusals: {
      not_found: 'There is no such app, or it is disabled and the caller is no administrator.',
      forbidden: 'The caller is not entitled to the app; administrators need an entitlement too.',
    },
    example: { params: { app_id: exampleIds.app } },
  }),
  'favourites.remove': operation({
    id: 'favourites.remove',
    method: 'DELETE',
    path: '/v1/me/favourites/{app_id}',
    auth: 'user',
    summary: 'Take the mark away, whether or not there was one',
    params: favouriteParams,
    responses: { 204: null },
    example: { params: { app_id: exampleIds.app } },
  }),
} as const;
