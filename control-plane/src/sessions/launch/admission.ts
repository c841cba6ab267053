/**
 * Admission checks of a launch in their fixed order, as pure functions over facts: `admit` before the transaction,
 * `admitHeld` with the user's row locked, `serve` after a GPU was booked. The first refusal is the answer.
 * Source: docs/launch.md, "Admission".
 */
import type { ClientFacts, ProfileWithRungs } from '../../profiles/index.ts';
import type { MergedRuntime } from '../app-spec.ts';
import { mergeRuntime } from '../app-spec.ts';
import { type Certification, isOverCertified, nextLowerProfile } from '../placement/certification-cap.ts';
import type { Demand, Pin } from '../placement/placement.ts';
import type { QuotaSession } from '../store.ts';
import { type ChoiceFacts, type ChoiceRequest, chooseProfile } from '../stream/profile-choice.ts';
import { encodes, type HostAbilities, type ServedRung, takeRungOf, walkRungs } from '../stream/rung-walk.ts';
import { resolveRungStream, resolveTierStream, type StreamPlan, type Viewer } from '../stream/stream.ts';
import type { LaunchApp } from './launch-store.ts';
import type { Refusal } from './refusal.ts';

export interface AdmissionRequest extends ChoiceRequest {
  client_type?: string | undefined;
  mic: boolean;
}

/** Facts that a launch reads before its transaction. */
export interface Snapshot {
  /** null: unknown or disabled app. */
  app: LaunchApp | null;
  /** null: the app is no tile. */
  parent: LaunchApp | null;
  entitled: boolean;
  choice: Omit<ChoiceFacts, 'app'>;
  viewer: Pick<Viewer, 'isAdmin' | 'probe'>;
  settings: {
    storageProvider: 'auto' | 'local' | 'volume';
    micCaptureEnabled: boolean;
    flightRecorderEnabled: boolean;
  };
  /** Host of the user's most recently used home of the app that owns homes; null = no home. */
  homeHostId: string | null;
  /** Whether that host comes first among suitable ones. */
  prefersHomeHost: boolean;
}

/** Terms of a launch that a person cannot choose. */
export interface Terms {
  /** local_only: neither encoded nor streamed. */
  topology: 'stream_only' | 'local_only' | 'dual_output';
  /** null = any host. */
  pin: Pin | null;
  skipVramVeto: boolean;
}

/** Terms of a launch by a person. */
export const PERSONAL_TERMS: Terms = { topology: 'stream_only', pin: null, skipVramVeto: false };

/** A launch that passed all checks without locks. */
export interface Admitted {
  app: LaunchApp;
  /** Owner of runtime, resources and home: a tile's parent, else the app itself. */
  owner: LaunchApp;
  runtime: MergedRuntime;
  homeProvider: 'local' | 'volume';
  demand: Demand;
  topology: Terms['topology'];
  /** Profile in force; null: a tier within the app's own numbers. */
  profile: ProfileWithRungs | null;
  /** All launch profiles, for a step down. */
  profiles: readonly ProfileWithRungs[];
  client: ClientFacts;
  viewer: Viewer;
  stream: ChoiceRequest['stream'];
  mic: boolean;
  recorder: boolean;
}

const NOT_ENTITLED: Refusal = { code: 'forbidden', message: 'You are not entitled to this app.' };

/** Homes as engine volumes need a container engine, which a process has not. */
export const VOLUME_FOR_PROCESS: Refusal = {
  code: 'conflict',
  message: 'Homes are engine volumes here, and this app runs without an engine.',
};

type Outcome<T> = { refusal: Refusal } | T;

/** The checks without locks, up to the home of a tile's parent. */
export function admit(
  snapshot: Snapshot,
  request: AdmissionRequest,
  terms: Terms,
): Outcome<{ admitted: Admitted }> {
  const { app, parent, choice } = snapshot;
  if (app === null) return { refusal: { code: 'not_found', message: 'There is no such app.' } };
  if (parent !== null && !parent.enabled) {
    const message = `${parent.name} is disabled, and this app needs it.`;
    return { refusal: { code: 'parent_app_disabled', message } };
  }
  if (!snapshot.entitled) return { refusal: NOT_ENTITLED };
  const chosen = chooseProfile({ ...choice, app }, request);
  if ('refusal' in chosen) return chosen;

  const owner = parent ?? app;
  const tile = parent === null ? null : { source: app.external_source, external_id: app.external_id };
  const runtime = mergeRuntime(owner, owner.preset, tile, app.name);
  if (runtime === null) {
    const message = 'The network of this app is not one that apps may use.';
    return { refusal: { code: 'conflict', message } };
  }
  let { pin } = terms;
  if (parent !== null && runtime.managed_home) {
    const { homeHostId } = snapshot;
    if (homeHostId === null || (pin !== null && pin.host_id !== homeHostId))
      return { refusal: { code: 'home_not_provisioned' } };
    pin ??= { host_id: homeHostId, gpu_index: null };
  }
  const homeProvider = snapshot.settings.storageProvider === 'volume' ? 'volume' : 'local';
  if (runtime.managed_home && homeProvider === 'volume' && runtime.runtime === 'process')
    return { refusal: VOLUME_FOR_PROCESS };
  return {
    admitted: {
      app,
      owner,
      runtime,
      homeProvider,
      demand: {
        encode_slots: terms.topology === 'local_only' ? 0 : owner.default_encode_slots,
        runtime: runtime.runtime,
        needs_home_root: runtime.managed_home && homeProvider === 'local',
        pin,
        prefer_host_id: snapshot.prefersHomeHost ? snapshot.homeHostId : null,
        image_version: null,
        skip_vram_veto: terms.skipVramVeto,
      },
      topology: terms.topology,
      profile: chosen.profile,
      profiles: choice.profiles,
      client: choice.client,
      viewer: { ...snapshot.viewer, isNative: request.client_type === 'native' },
      stream: request.stream,
      mic: request.mic && snapshot.settings.micCaptureEnabled,
      recorder: snapshot.settings.flightRecorderEnabled,
    },
  };
}

/** Facts that the transaction reads with the user's row locked. */
export interface HeldFacts {
  /** null: the account was deleted. */
  maxConcurrentSessions: number | null;
  disabled: boolean;
  /** Read again, with the rows locked. */
  entitled: boolean;
  /** Whether the device of the sign-in still exists; true for a sign-in without a device. */
  deviceExists: boolean;
  /** Sessions of the user that count for the quota. */
  sessions: number;
  /** Sessions of the user that hold homes. */
  homes: readonly Pick<QuotaSession, 'id' | 'home_app_ids'>[];
}

/** The checks with the user's row locked: account, entitlement, quota, home. @returns null: all passed */
export function admitHeld(admitted: Admitted, held: HeldFacts): Refusal | null {
  if (held.maxConcurrentSessions === null || !held.entitled) return NOT_ENTITLED;
  // The account was disabled after admission; its sessions were stopped without this one.
  if (held.disabled) return { code: 'forbidden', message: 'The account is disabled.' };
  // The sign-in was revoked with its device after admission.
  if (!held.deviceExists) return { code: 'unauthorized' };
  if (held.sessions >= held.maxConcurrentSessions) return { code: 'session_quota_exceeded' };
  const homeAppId = homeAppOf(admitted);
  const holder = homeAppId && held.homes.find((session) => session.home_app_ids.includes(homeAppId));
  return holder ? { code: 'home_in_use', session_id: holder.id } : null;
}

/** The app whose home the session holds; null: none. */
export const homeAppOf = ({ runtime, owner }: Pick<Admitted, 'runtime' | 'owner'>): string | null =>
  runtime.managed_home ? owner.id : null;

/** Encoding facts of the booked GPU. */
export interface ServingGpu extends HostAbilities {
  /** Certifications of the encoder in effect. */
  certifications: readonly Certification[];
}

/** The stream of a session, with its profile and rung. */
export interface Served {
  stream: StreamPlan;
  /** The served launch profile, possibly lowered by a certification; null: none is in force. */
  profileId: string | null;
  rung: ServedRung | null;
}

/** The checks on the requested codec, and the final stream. */
export function serve(admitted: Admitted, gpu: ServingGpu, nowMs: number): Outcome<{ served: Served }> {
  const { app, profile, stream: override, viewer } = admitted;
  if (profile === null) {
    const defaults = {
      width: app.default_width,
      height: app.default_height,
      fps: app.default_fps,
      bitrate_kbps: app.default_bitrate_kbps,
    };
    const stream = resolveTierStream(defaults, override, viewer);
    if (!encodes(gpu, stream.codec)) return { refusal: cannotEncode(stream.codec) };
    return { served: { stream, profileId: null, rung: null } };
  }
  const rung = resolve(admitted, profile, gpu);
  if (rung === null) return { refusal: noRung(profile, override?.codec) };
  if (override?.codec !== undefined && !encodes(gpu, override.codec))
    return { refusal: cannotEncode(override.codec) };
  const served: Served = {
    stream: resolveRungStream(rung.rung, override, viewer),
    profileId: profile.profile.id,
    rung,
  };
  return { served: stepDown(admitted, served, gpu, nowMs) ?? served };
}

/** The rung of a profile for this launch and GPU; null: no rung has the requested codec. */
function resolve(
  { stream, client }: Admitted,
  { rungs }: ProfileWithRungs,
  gpu: HostAbilities,
): ServedRung | null {
  return stream?.codec === undefined ? walkRungs(rungs, gpu, client) : takeRungOf(rungs, stream.codec);
}

/**
 * Steps down one profile if the encoder was measured as too slow for the served rung. One step only: the lower
 * profile is not checked again.
 * @returns null: no step down
 */
function stepDown(admitted: Admitted, served: Served, gpu: ServingGpu, nowMs: number): Served | null {
  const { rung, profileId, stream } = served;
  if (admitted.viewer.isAdmin || rung === null || profileId === null) return null;
  if (!isOverCertified(gpu.certifications, rung.rung.id, stream.bitrate_kbps, nowMs)) return null;
  const lower = oneBelow(admitted, profileId);
  const lowerRung = lower && resolve(admitted, lower, gpu);
  if (!lower || !lowerRung) return null;
  return {
    stream: resolveRungStream(lowerRung.rung, admitted.stream, admitted.viewer),
    profileId: lower.profile.id,
    rung: lowerRung,
  };
}

const oneBelow = ({ profiles }: Admitted, profileId: string): ProfileWithRungs | undefined => {
  const id = nextLowerProfile(profileId);
  return profiles.find(({ profile }) => profile.id === id);
};

/** The rungs that `serve` may choose from. */
export function rungsInReach(admitted: Admitted): string[] {
  const { profile } = admitted;
  if (profile === null) return [];
  const chains = [profile, oneBelow(admitted, profile.profile.id)];
  return chains.flatMap((chain) => chain?.rungs.map(({ id }) => id) ?? []);
}

/** Refusal for a chain without rungs, which only an old release could store. */
function noRung({ profile }: ProfileWithRungs, codec: string | undefined): Refusal {
  return codec === undefined
    ? { code: 'conflict', message: `${profile.display_name} has no rungs yet.` }
    : {
        code: 'validation_failed',
        message: `stream.codec: no rung of ${profile.display_name} is in ${codec}`,
      };
}

const cannotEncode = (codec: string): Refusal => ({
  code: 'conflict',
  message: `The host cannot encode ${codec}.`,
});
