import { z } from 'zod';
import { openCode } from '../common.ts';

/**
 * All error codes of the API, each with HTTP status and default message. In answers the code is an open string. Clients
 * decide by the code, and then by the status. So codes may be added to this table, but the meaning of a code must not
 * change.
 *
 * Two codes have a second status: `internal` is 503 when a part of the service is temporarily down
 * (`UNAVAILABLE_STATUS`), and `validation_failed` is 413 for uploads over their cap.
 */
export const ERRORS = {
  validation_failed: { status: 400, message: 'The request is not valid.' },
  invalid_invite: { status: 400, message: 'This invite code cannot be used.' },
  invalid_state: { status: 400, message: 'That state is not one of the known values.' },
  unauthorized: { status: 401, message: 'Sign in to do this.' },
  invalid_credentials: { status: 401, message: 'Email or password is wrong.' },
  sign_in_expired: {
    status: 401,
    message: 'This sign-in has expired, was used already, or was started in another browser.',
  },
  forbidden: { status: 403, message: 'You are not allowed to do this.' },
  registration_closed: { status: 403, message: 'Registration is closed on this instance.' },
  account_disabled: { status: 403, message: 'This account is disabled.' },
  sign_in_not_confirmed: { status: 403, message: 'The identity provider did not confirm this sign-in.' },
  not_found: { status: 404, message: 'There is no such resource.' },
  not_installed: { status: 404, message: 'This image is not installed.' },
  guest_link_invalid: { status: 404, message: 'This link does not work any more. Ask for another one.' },
  method_not_allowed: { status: 405, message: 'This path does not take that method.' },
  conflict: { status: 409, message: 'The request conflicts with the current state.' },
  account_not_linked: {
    status: 409,
    message: 'An account with this email exists and cannot be linked to this sign-in.',
  },
  setup_already_complete: { status: 409, message: 'An administrator already exists.' },
  session_quota_exceeded: { status: 409, message: 'You have reached your number of concurrent sessions.' },
  home_in_use: { status: 409, message: 'Another session is using the home of this app.' },
  home_not_provisioned: { status: 409, message: 'Start the parent app once before this one.' },
  parent_app_disabled: { status: 409, message: 'The app this one belongs to is disabled.' },
  profile_ineligible: { status: 409, message: 'This profile does not suit your connection or device.' },
  profile_not_launchable_for_app: { status: 409, message: 'This app does not offer that profile.' },
  restart_required: { status: 409, message: 'The host has live sessions; confirm to go on.' },
  job_already_running: { status: 409, message: 'A run of this job is already open.' },
  job_disabled: { status: 409, message: 'This job is disabled.' },
  job_unmanaged: { status: 409, message: 'This job cannot be run by hand.' },
  schedule_locked: { status: 409, message: 'The schedule of this job is set by the environment.' },
  digest_unresolved: { status: 409, message: 'The image has no resolved digest.' },
  context_unresolved: { status: 409, message: 'The context of this request could not be resolved.' },
  already_installed: { status: 409, message: 'This image is already installed.' },
  provider_enabled: { status: 409, message: 'Disable the library provider first.' },
  library_discovery_disabled: { status: 409, message: 'Library discovery is switched off.' },
  capture_busy: { status: 409, message: 'A capture of this session is already in flight.' },
  session_not_running: { status: 409, message: 'The session is not running.' },
  session_not_swappable: { status: 409, message: 'The app of this session cannot be changed now.' },
  swap_exceeds_reservation: { status: 409, message: 'That app needs more than this session has reserved.' },
  external_resize_unsupported: { status: 409, message: 'This session cannot change its picture size.' },
  preflight_unsupported: {
    status: 409,
    message: 'The agent of this host is too old for this test. Update it.',
  },
  sharing_disabled: { status: 409, message: 'An administrator has switched sharing off.' },
  sharing_unsupported: { status: 409, message: 'The host of this session is too old for guests.' },
  too_many_guests: { status: 409, message: 'This session has as many links as it may.' },
  display_update_rejected: { status: 409, message: 'The host did not take the display change.' },
  capture_kind_unsupported: { status: 422, message: 'The agent cannot make this kind of capture.' },
  managed_preset_image_invalid: { status: 422, message: 'A managed preset keeps the image it came with.' },
  client_too_old: { status: 426, message: 'This client is too old for this server.' },
  https_required: { status: 426, message: 'Use the HTTPS address.' },
  rate_limited: { status: 429, message: 'Too many requests; try again shortly.' },
  internal: { status: 500, message: 'Something went wrong on the server.' },
  capture_unsupported: { status: 501, message: "The host's agent does not know captures." },
  provider_unavailable: { status: 502, message: 'The provider did not answer.' },
  no_host_available: { status: 503, message: 'No host can run this app.' },
  capacity_exhausted: { status: 503, message: 'Every host is busy right now.' },
  agent_not_connected: { status: 503, message: "The session's host is not connected." },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** Status of `internal` for a temporary failure. */
export const UNAVAILABLE_STATUS = 503;

/** A tile that would be deleted together with its parent. The refusal of the deletion lists it. */
export const derivedTile = z
  .object({ id: z.uuid().describe('Id of the app.'), name: z.string().describe('Name of the app.') })
  .meta({ id: 'DerivedTile', description: 'An app that belongs to another one.' });
export type DerivedTile = z.output<typeof derivedTile>;

/**
 * The body of every refusal. Additional members are inside `error`, and only with their code: `live_sessions` (their
 * number) with restart_required, `session_id` with home_in_use if the holder is known, `derived_tiles` with the
 * conflict of an app deletion, `run_id` with the conflict of a certification run if the other run is known. The version strings next to `error` are present only with client_too_old.
 */
export const errorEnvelope = z
  .object({
    error: z
      .object({
        code: openCode<ErrorCode>().describe('What is wrong, for programs.'),
        message: z
          .string()
          .describe('What is wrong and what to do, for people. Free text: do not branch on it.'),
        live_sessions: z.int().optional().describe('With restart_required: sessions that run on the host.'),
        session_id: z
          .string()
          .optional()
          .describe('With home_in_use: the session that uses the home, where it is known.'),
        derived_tiles: z
          .array(derivedTile)
          .optional()
          .describe('With the conflict of deleting an app: the apps that would go with it.'),
        run_id: z
          .string()
          .optional()
          .describe(
            'With the conflict of a certification run: the run that has not ended, where it is known.',
          ),
      })
      .describe('The refusal.'),
    min_client_version: z
      .string()
      .optional()
      .describe('With client_too_old: the oldest version that the service takes.'),
    latest_client_version: z
      .string()
      .optional()
      .describe(
        'With client_too_old: the newest version that the service knows of; left out where it was told none.',
      ),
  })
  .meta({ description: 'The body of every refusal.' });
export type ErrorEnvelope = z.output<typeof errorEnvelope>;
