import { z } from 'zod';
import { bitrateKbps, frameRate, h264Profile, pictureSide, uuid } from '../../common.ts';
import { body, int32, notBlank, string, textIdParams } from '../atoms.ts';
import { exampleIds } from '../example-ids.ts';
import { operation } from '../operation.ts';

/** Longest id that an operator may choose. It fits into an index of either database in any script. */
const MAX_ID_LENGTH = 128;

/** Codecs with the names of the catalog. Sessions and certifications use h265 for hevc. */
export const rungCodec = z.enum(['h264', 'hevc', 'av1']);
export type RungCodec = z.output<typeof rungCodec>;

const visibility = z.enum(['user', 'debug', 'internal']);

/**
 * `.` and `..` are refused: a URL parser treats them as folders, so a record with such an id could never be requested.
 */
const chosenId = notBlank(MAX_ID_LENGTH).regex(/^(?!\.\.?$)/, { error: 'must not be . or ..' });

/** The fields of a rung that a write may set, with the rules that need no look-up. */
const rungFields = {
  display_name: notBlank().describe('Name that people see.'),
  codec: rungCodec.describe('Video codec, as the catalog spells it: hevc is what sessions call h265.'),
  width: pictureSide.describe('Width of the picture in pixels, an even number.'),
  height: pictureSide.describe('Height of the picture in pixels, an even number.'),
  fps: frameRate.describe('Pictures per second.'),
  h264_profile: h264Profile.describe('H.264 profile to encode with; without effect for hevc and av1.'),
  nominal_bitrate_kbps: bitrateKbps.describe('Bitrate that the rung is made for, kbit/s.'),
  min_offer_bandwidth_kbps: int32(0).describe(
    'A client measured below this bandwidth is not offered the rung, kbit/s; 0: no such bound.',
  ),
  recommended_offer_bandwidth_kbps: int32(0).describe(
    'A client measured below this bandwidth gets the rung as risky, kbit/s; 0: no such bound.',
  ),
  headroom_factor: z.number().positive().describe('Bandwidth to have in hand, as a factor of the bitrate.'),
  abr_floor_kbps: int32(0).describe(
    'Lowest bitrate that adaptation goes down to, kbit/s; 0: the default of the agent.',
  ),
  max_startup_rtt_ms: int32(0).describe(
    'A client measured above this round-trip time is not offered the rung, ms; 0: no limit.',
  ),
  min_decode_height: int32(0).describe(
    'A client that decodes fewer lines than this is not offered the rung; 0: no such bound.',
  ),
  high_refresh_display: z
    .enum(['none', 'recommended', 'required'])
    .describe('Whether the rung wants a display as fast as its pictures.'),
  hardware_encoder_required: z.boolean().describe('Whether a host without a hardware encoder is skipped.'),
  browser_client: z.enum(['recommended', 'supported', 'risky']).describe('How well browsers play the rung.'),
  playout0_ms: int32(0).describe('Playout delay at the start of a session, ms.'),
  visibility: visibility.describe('Who the rung is meant for; launch profiles may list any.'),
};

const rungId = z.string().describe('Id that the operator chose.');

/** A stream profile: one encoding. It is a rung of launch profiles, which are chains of rungs. */
export const streamProfile = z
  .object({ id: rungId, ...rungFields })
  .meta({ id: 'StreamProfile', description: 'One way to stream: a rung that launch profiles are made of.' });
export type StreamProfile = z.output<typeof streamProfile>;

const warning = z.object({
  code: z
    .enum(['h264_floor_not_last', 'floor_not_least_demanding'])
    .describe(
      'h264_floor_not_last: the last H.264 rung is not the last of the chain. floor_not_least_demanding: it asks more than another rung.',
    ),
  message: z.string().describe('What is doubtful about the chain, for people.'),
});
/** A warning about a chain. A chain is never refused because of a warning. */
export type ChainWarning = z.output<typeof warning>;

const rungWithWarnings = streamProfile.extend({
  warnings: z
    .array(warning)
    .optional()
    .describe(
      'What a change of the codec makes doubtful about the chains that list the rung; absent: nothing.',
    ),
});

/** A rung in the list for administrators, with the launch profiles that use it. */
export const listedStreamProfile = streamProfile
  .extend({
    used_by: z
      .array(
        z.object({
          id: z.string().describe('Id of the launch profile.'),
          display_name: z.string().describe('Name of the launch profile.'),
        }),
      )
      .optional()
      .describe('Launch profiles whose chain lists the rung, by id; absent: none.'),
    session_count: z
      .int()
      .optional()
      .describe('Sessions, live and past, that resolved to the rung; absent: none.'),
  })
  .meta({ id: 'ListedStreamProfile', description: 'A stream profile as administrators list it.' });
export type ListedStreamProfile = z.output<typeof listedStreamProfile>;

const launchProfileFields = {
  display_name: z.string().describe('Name that people see.'),
  description: z.string().describe('A sentence for people; "" where there is none.'),
  visibility: visibility.describe(
    'user: people may choose it. debug, internal: only administrators launch it.',
  ),
  sort_order: z.int().describe('Place in lists, ascending; ties by id.'),
};

/** A launch profile: an ordered chain of rungs that people choose by its name. */
export const launchProfile = z
  .object({
    id: z.string().describe('Id that the operator chose.'),
    ...launchProfileFields,
    rungs: z
      .array(
        z.object({
          position: z
            .int()
            .describe('Place in the chain, from 1: the order in which a launch tries the rungs.'),
          stream_profile: streamProfile.describe('The rung at this place.'),
        }),
      )
      .describe('The chain, best rung first.'),
    used_by: z
      .object({
        apps: z
          .array(
            z.object({
              id: z.string().describe('Id of the app.'),
              name: z.string().describe('Name of the app.'),
            }),
          )
          .describe('Apps whose default this profile is, by name.'),
        global_default: z.boolean().describe('Whether it is the default of the instance.'),
        user_preferences: z.int().describe('How many people made it their own default.'),
      })
      .describe('What keeps the profile from being deleted.'),
    allowed_by: z
      .object({
        apps: z.int().describe('Apps whose list of launch profiles that people may choose names it.'),
        alone: z.int().describe('Those of them whose list names no other; after a deletion they allow all.'),
      })
      .describe('The lists that a deletion takes it from.'),
    warnings: z.array(warning).describe('What is doubtful about the chain; [] when nothing is.'),
  })
  .meta({ id: 'LaunchProfile', description: 'A chain of rungs that a launch goes down until one fits.' });
export type LaunchProfile = z.output<typeof launchProfile>;

/** The instance's policy for launches for which the person chose no profile. */
export const instanceProfilePolicy = z
  .object({
    global_default_profile_id: z
      .string()
      .nullable()
      .describe('Launch profile that applies without a choice; null: the numbers of each app.'),
    user_overrides_allowed: z.boolean().describe('Whether people may choose a launch profile of their own.'),
  })
  .meta({
    id: 'InstanceProfilePolicy',
    description: 'Which launch profile people get who choose none, and whether they may choose.',
  });
export type InstanceProfilePolicy = z.output<typeof instanceProfilePolicy>;

/** The caller's own default, and the instance's policy. */
export const profilePreferences = z
  .object({
    default_profile_id: z
      .string()
      .nullable()
      .describe(
        'Launch profile that the caller chose as a default; null: none. Used while overrides are allowed.',
      ),
    ...instanceProfilePolicy.shape,
  })
  .meta({ id: 'ProfilePreferences', description: 'What the caller chose, and whether it counts.' });
export type ProfilePreferences = z.output<typeof profilePreferences>;

export const eligibility = z.enum(['eligible', 'risky', 'ineligible']);
export type Eligibility = z.output<typeof eligibility>;

/** Codes of verdicts and notes. New codes may be added, but codes are never removed. */
export const reasonCode = z.enum([
  'bandwidth_too_low',
  'rtt_too_high',
  'decode_height_too_low',
  'codec_not_supported',
  'host_encoder_not_supported',
  'historical_client_performance_failed',
  'browser_playout_unsupported',
  'display_refresh_unknown',
  'display_refresh_too_low',
  'probe_missing',
  'probe_stale',
  'host_encoder_limited',
  'app_size_limited',
]);

const reason = z.object({
  code: reasonCode.describe('Machine-readable cause; more may be added.'),
  message: z.string().describe('The cause for people, with its numbers.'),
});
export type Reason = z.output<typeof reason>;

const verdict = {
  eligibility: eligibility.describe(
    'eligible: should run well. risky: may be launched all the same. ineligible: not.',
  ),
  reasons: z.array(reason).describe('Why it is not eligible; [] when it is.'),
};

const ratedRung = streamProfile.extend({
  position: z.int().describe('Place in the chain, from 1.'),
  ...verdict,
});

/** A launch profile, rated for the caller's device. */
export const ratedLaunchProfile = z
  .object({
    id: z.string().describe('Id of the launch profile.'),
    display_name: launchProfileFields.display_name,
    description: launchProfileFields.description,
    nominal: z
      .object({
        width: z.int().describe('Pixels.'),
        height: z.int().describe('Pixels.'),
        fps: z.int().describe('Pictures per second.'),
        bitrate_kbps: z.int().describe('Nominal bitrate, kbit/s.'),
      })
      .describe('Numbers of the first rung: advertised, not promised.'),
    ...verdict,
    rungs: z.array(ratedRung).describe('The chain, each rung with its own verdict.'),
  })
  .meta({ id: 'RatedLaunchProfile', description: 'A launch profile with how well it suits the caller.' });
export type RatedLaunchProfile = z.output<typeof ratedLaunchProfile>;

const profileOffer = z.object({
  recommended_id: z
    .string()
    .describe('Launch profile to preselect, one of `profiles`; "" when there is none.'),
  confidence: z.enum(['high', 'low']).describe('low: guessed without a measurement, or nothing fits well.'),
  notes: z
    .array(reason)
    .describe(
      'probe_missing or probe_stale when the verdicts rest on no measurement. host_encoder_limited: a better profile is more than the hosts encode for one session while an app draws. app_size_limited: a better profile is more than the size, frame rate or bitrate set for the app.',
    ),
  profiles: z.array(ratedLaunchProfile).describe('Launch profiles for people, by sort_order, then id.'),
});
export type ProfileOffer = z.output<typeof profileOffer>;

const rungCreateBody = body({
  ...rungFields,
  id: chosenId.describe(`Id, not blank, at most ${MAX_ID_LENGTH} characters; never changed afterwards.`),
  h264_profile: rungFields.h264_profile.default('high'),
  min_offer_bandwidth_kbps: rungFields.min_offer_bandwidth_kbps.default(0),
  recommended_offer_bandwidth_kbps: rungFields.recommended_offer_bandwidth_kbps.default(0),
  headroom_factor: rungFields.headroom_factor.default(1.5),
  abr_floor_kbps: rungFields.abr_floor_kbps.default(0),
  max_startup_rtt_ms: rungFields.max_startup_rtt_ms.default(0),
  min_decode_height: rungFields.min_decode_height.default(0),
  high_refresh_display: rungFields.high_refresh_display.default('none'),
  hardware_encoder_required: rungFields.hardware_encoder_required.default(false),
  browser_client: rungFields.browser_client.default('supported'),
  playout0_ms: rungFields.playout0_ms.default(50),
  visibility: rungFields.visibility.default('internal'),
});

/** A key that answers contain and that a write ignores. @param type type of the key in answers */
const ignored = (type: 'string' | 'boolean') =>
  z
    .unknown()
    .optional()
    .meta({ type, description: 'Ignored, so that an answer can be sent back as it was read.' });

const rungUpdateBody = body({
  ...z.object(rungFields).partial().shape,
  id: ignored('string'),
});

const chain = z
  .array(z.string())
  .min(1)
  .refine((ids) => new Set(ids).size === ids.length, { error: 'names a rung twice' })
  .describe('Ids of the rungs, best first: each exists, none twice, at least one of them h264.');

const launchProfileWrite = {
  display_name: notBlank().describe('Name that people see.'),
  description: string().describe('A sentence for people.'),
  visibility: launchProfileFields.visibility,
  sort_order: int32().describe(launchProfileFields.sort_order.description ?? ''),
  rungs: chain,
};

const launchProfileCreateBody = body({
  ...launchProfileWrite,
  id: chosenId.describe(`Id, not blank, at most ${MAX_ID_LENGTH} characters; never changed afterwards.`),
  description: launchProfileWrite.description.default(''),
  visibility: launchProfileWrite.visibility.default('user'),
  sort_order: launchProfileWrite.sort_order.default(0),
});
const launchProfileUpdateBody = body(z.object(launchProfileWrite).partial().shape);

const policyUpdateBody = body({
  global_default_profile_id: string()
    .nullable()
    .optional()
    .describe('A launch profile of visibility user; null: none. Absent: unchanged.'),
  user_overrides_allowed: z
    .boolean()
    .optional()
    .describe('Whether people may choose a launch profile of their own. Absent: unchanged.'),
});

const preferencesUpdateBody = body({
  default_profile_id: string()
    .nullable()
    .optional()
    .describe('A launch profile of visibility user; null or "": none. Absent: unchanged.'),
  global_default_profile_id: ignored('string'),
  user_overrides_allowed: ignored('boolean'),
});

const offerQuery = z.object({
  app_id: z
    .union([uuid, z.string().regex(/^\s*$/)])
    .optional()
    .transform((value) => (value?.trim() ? value : undefined))
    .describe('Only what this app may be launched with; blank: as if absent.'),
});

const exampleRung: StreamProfile = {
  id: '1080p60-h264',
  display_name: 'H.264 · 1080p · 60 FPS',
  codec: 'h264',
  width: 1920,
  height: 1080,
  fps: 60,
  h264_profile: 'constrained-baseline',
  nominal_bitrate_kbps: 8000,
  min_offer_bandwidth_kbps: 9600,
  recommended_offer_bandwidth_kbps: 12000,
  headroom_factor: 1.5,
  abr_floor_kbps: 3000,
  max_startup_rtt_ms: 0,
  min_decode_height: 1080,
  high_refresh_display: 'none',
  hardware_encoder_required: false,
  browser_client: 'recommended',
  playout0_ms: 50,
  visibility: 'internal',
};

const exampleLaunchProfile: LaunchProfile = {
  id: 'couch',
  display_name: 'Couch',
  description: 'Full HD for the living room.',
  visibility: 'user',
  sort_order: 55,
  rungs: [{ position: 1, stream_profile: exampleRung }],
  used_by: { apps: [], global_default: false, user_preferences: 0 },
  allowed_by: { apps: 0, alone: 0 },
  warnings: [],
};

const exampleLaunchProfileBody = {
  id: 'couch',
  display_name: 'Couch',
  description: 'Full HD for the living room.',
  sort_order: 55,
  rungs: ['1080p60-h264'],
};

const examplePolicy: InstanceProfilePolicy = {
  global_default_profile_id: '1080p60',
  user_overrides_allowed: true,
};

export const profileOperations = {
  'streamProfiles.list': operation({
    id: 'streamProfiles.list',
    method: 'GET',
    path: '/v1/admin/stream-profiles',
    auth: 'admin',
    summary: 'All rungs by id, with what uses them',
    responses: {
      200: z.object({ items: z.array(listedStreamProfile).describe('Every rung, by id.') }),
    },
    example: {
      response: {
        items: [
          { ...exampleRung, used_by: [{ id: '1080p60', display_name: '1080p · 60 FPS' }], session_count: 12 },
        ],
      },
    },
  }),
  'streamProfiles.create': operation({
    id: 'streamProfiles.create',
    method: 'POST',
    path: '/v1/admin/stream-profiles',
    auth: 'admin',
    summary: 'Create a rung',
    body: { schema: rungCreateBody },
    responses: { 201: streamProfile },
    refusals: { conflict: 'A rung of this id exists.' },
    example: { body: exampleRung, response: exampleRung },
  }),
  'streamProfiles.update': operation({
    id: 'streamProfiles.update',
    method: 'PATCH',
    path: '/v1/admin/stream-profiles/{id}',
    auth: 'admin',
    summary: 'Change a rung for the launches to come',
    params: textIdParams,
    body: { schema: rungUpdateBody },
    responses: { 200: rungWithWarnings },
    refusals: {
      not_found: 'There is no such rung.',
      conflict: 'The new codec would leave a launch profile that lists the rung without an H.264 rung.',
    },
    example: {
      params: { id: '1080p60-h264' },
      body: { nominal_bitrate_kbps: 8000 },
      response: exampleRung,
    },
  }),
  'streamProfiles.delete': operation({
    id: 'streamProfiles.delete',
    method: 'DELETE',
    path: '/v1/admin/stream-profiles/{id}',
    auth: 'admin',
    summary: 'Delete a rung that nothing uses',
    params: textIdParams,
    responses: { 204: null },
    refusals: {
      not_found: 'There is no such rung.',
      conflict: 'A launch profile lists the rung, or a session, live or past, recorded it.',
    },
    example: { params: { id: '1080p60-h264' } },
  }),
  'launchProfiles.list': operation({
    id: 'launchProfiles.list',
    method: 'GET',
    path: '/v1/admin/launch-profiles',
    auth: 'admin',
    summary: 'All launch profiles with their chains, of every visibility',
    responses: {
      200: z.object({
        items: z.array(launchProfile).describe('Every launch profile, by sort_order, then id.'),
      }),
    },
    example: { response: { items: [exampleLaunchProfile] } },
  }),
  'launchProfiles.create': operation({
    id: 'launchProfiles.create',
    method: 'POST',
    path: '/v1/admin/launch-profiles',
    auth: 'admin',
    summary: 'Create a launch profile',
    body: { schema: launchProfileCreateBody },
    responses: { 201: launchProfile },
    refusals: { conflict: 'A launch profile of this id exists.' },
    example: { body: exampleLaunchProfileBody, response: exampleLaunchProfile },
  }),
  'launchProfiles.read': operation({
    id: 'launchProfiles.read',
    method: 'GET',
    path: '/v1/admin/launch-profiles/{id}',
    auth: 'admin',
    summary: 'One launch profile with its chain',
    params: textIdParams,
    responses: { 200: launchProfile },
    refusals: { not_found: 'There is no such launch profile.' },
    example: { params: { id: 'couch' }, response: exampleLaunchProfile },
  }),
  'launchProfiles.update': operation({
    id: 'launchProfiles.update',
    method: 'PATCH',
    path: '/v1/admin/launch-profiles/{id}',
    auth: 'admin',
    summary: 'Change a launch profile; rungs replace the whole chain',
    params: textIdParams,
    body: { schema: launchProfileUpdateBody },
    responses: { 200: launchProfile },
    refusals: { not_found: 'There is no such launch profile.' },
    example: {
      params: { id: 'couch' },
      body: { rungs: ['1080p60-h264'] },
      response: exampleLaunchProfile,
    },
  }),
  'launchProfiles.delete': operation({
    id: 'launchProfiles.delete',
    method: 'DELETE',
    path: '/v1/admin/launch-profiles/{id}',
    auth: 'admin',
    summary: 'Delete a launch profile, and take it out of the lists of apps',
    params: textIdParams,
    responses: { 204: null },
    refusals: {
      not_found: 'There is no such launch profile.',
      conflict: 'It is the default of an app, of the instance or of a person.',
    },
    example: { params: { id: 'couch' } },
  }),
  'profilePolicy.read': operation({
    id: 'profilePolicy.read',
    method: 'GET',
    path: '/v1/admin/profile-policy',
    auth: 'admin',
    summary: 'Which launch profile applies without a choice, and whether people may choose',
    responses: { 200: instanceProfilePolicy },
    example: { response: examplePolicy },
  }),
  'profilePolicy.update': operation({
    id: 'profilePolicy.update',
    method: 'PATCH',
    path: '/v1/admin/profile-policy',
    auth: 'admin',
    summary: 'Change the default launch profile of the instance, and whether people may choose',
    body: { schema: policyUpdateBody },
    responses: { 200: instanceProfilePolicy },
    example: { body: { global_default_profile_id: '1080p60' }, response: examplePolicy },
  }),
  'me.profilePreferences.read': operation({
    id: 'me.profilePreferences.read',
    method: 'GET',
    path: '/v1/me/profile-preferences',
    auth: 'user',
    summary: 'The launch profile that the caller chose as a default, and what the instance says',
    responses: { 200: profilePreferences },
    example: { response: { default_profile_id: null, ...examplePolicy } },
  }),
  'me.profilePreferences.update': operation({
    id: 'me.profilePreferences.update',
    method: 'PATCH',
    path: '/v1/me/profile-preferences',
    auth: 'user',
    summary: "Choose or clear the caller's default launch profile",
    body: { schema: preferencesUpdateBody },
    responses: { 200: profilePreferences },
    example: {
      body: { default_profile_id: '1080p60' },
      response: { default_profile_id: '1080p60', ...examplePolicy },
    },
  }),
  'me.profiles': operation({
    id: 'me.profiles',
    method: 'GET',
    path: '/v1/me/profiles',
    auth: 'user',
    summary: "Launch profiles as the caller's latest device can play them, with a recommendation",
    query: offerQuery,
    responses: { 200: profileOffer },
    refusals: { not_found: 'The app is absent, disabled, or not for the caller.' },
    example: {
      query: { app_id: exampleIds.app },
      response: {
        recommended_id: 'couch',
        confidence: 'low',
        notes: [
          {
            code: 'probe_missing',
            message: 'The decoders and the connection of this device have not been measured yet.',
          },
        ],
        profiles: [
          {
            id: 'couch',
            display_name: 'Couch',
            description: 'Full HD for the living room.',
            nominal: { width: 1920, height: 1080, fps: 60, bitrate_kbps: 8000 },
            eligibility: 'eligible',
            reasons: [],
            rungs: [{ ...exampleRung, position: 1, eligibility: 'eligible', reasons: [] }],
          },
        ],
      },
    },
  }),
} as const;
