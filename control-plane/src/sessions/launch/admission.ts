/**
 * What a launch has to pass, in its fixed order, as pure functions over what was read beforehand: `admit` before the
 * transaction, `admitHeld` with the user's row locked, `serve` once a GPU is taken. The first refusal is the answer.
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

/** Everything that a launch reads before its transaction. */
export interface Snapshot {
  /** null: unknown or disabled. */
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
  /** Host of the user's most recently used home of the app that owns homes; null = there is none anywhere. */
  homeHostId: string | null;
  /** Whether that host goes first wherever any may serve. */
  prefersHomeHost: boolean;
}

/** What a launch that is no person's own may say besides. */
export interface Terms {
  /** local_only: nothing is encoded, nothing streamed. */
  topology: 'stream_only' | 'local_only' | 'dual_output';
  /** null = wherever there is room. */
  pin: Pin | null;
  skipVramVeto: boolean;
}

/** Those of a launch by a person. */
export const PERSONAL_TERMS: Terms = { topology: 'stream_only', pin: null, skipVramVeto: false };

/** A launch that passed everything that needs no lock. */
export interface Admitted {
  app: LaunchApp;
  /** The app that owns runtime, resources and home: the parent of a tile, else the app itself. */
  owner: LaunchApp;
  runtime: MergedRuntime;
  homeProvider: 'local' | 'volume';
  demand: Demand;
  topology: Terms['topology'];
  /** In force; null: tiers within the app's own numbers. */
  profile: ProfileWithRungs | null;
  /** Every launch profile, for a step down. */
  profiles: readonly ProfileWithRungs[];
  client: ClientFacts;
  viewer: Viewer;
  stream: ChoiceRequest['stream'];
  mic: boolean;
  recorder: boolean;
}

const NOT_ENTITLED: Refusal = { code: 'forbidden', message: 'You are not entitled to this app.' };

/** Homes as engine volumes need an engine. */
export const VOLUME_FOR_PROCESS: Refusal = {
  code: 'conflict',
  message: 'Homes are engine volumes here, and this app runs without an engine.',
};

type Outcome<T> = { refusal: Refusal } | T;

/** Rows 2 to 10: all that can be judged without a lock. */
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

/** What the transaction knows once it holds the user's row. */
export interface HeldFacts {
  /** null: the account is gone. */
  maxConcurrentSessions: number | null;
  disabled: boolean;
  /** Looked up again, with the rows held. */
  entitled: boolean;
  /** The device of the sign-in is still there, or the sign-in has none. */
  deviceExists: boolean;
  /** How many sessions of the user count. */
  sessions: number;
  /** Those of them that hold homes. */
  homes: readonly Pick<QuotaSession, 'id' | 'home_app_ids'>[];
}

/** Rows 11 to 13. @returns null: none of them refuses */
export function admitHeld(admitted: Admitted, held: HeldFacts): Refusal | null {
  if (held.maxConcurrentSessions === null || !held.entitled) return NOT_ENTITLED;
  // Disabled while the launch was being looked at, so its sessions were ended without this one.
  if (held.disabled) return { code: 'forbidden', message: 'The account is disabled.' };
  // The sign-in was revoked with its device while the launch was being looked at.
  if (!held.deviceExists) return { code: 'unauthorized' };
  if (held.sessions >= held.maxConcurrentSessions) return { code: 'session_quota_exceeded' };
  const homeAppId = homeAppOf(admitted);
  const holder = homeAppId && held.homes.find((session) => session.home_app_ids.includes(homeAppId));
  return holder ? { code: 'home_in_use', session_id: holder.id } : null;
}

/** The app whose home the session holds; null: it holds none. */
export const homeAppOf = ({ runtime, owner }: Pick<Admitted, 'runtime' | 'owner'>): string | null =>
  runtime.managed_home ? owner.id : null;

/** What the taken GPU encodes with. */
export interface ServingGpu extends HostAbilities {
  /** Of the encoder in effect there. */
  certifications: readonly Certification[];
}

/** The stream that a session gets, with the profile and rung it comes from. */
export interface Served {
  stream: StreamPlan;
  /** The launch profile that is served, which a certification may have lowered; null: none is in force. */
  profileId: string | null;
  rung: ServedRung | null;
}

/** Rows 16 and 17, and what is streamed in the end. */
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

/** The rung of a profile that this launch takes on this GPU; null: it names a codec that no rung has. */
function resolve(
  { stream, client }: Admitted,
  { rungs }: ProfileWithRungs,
  gpu: HostAbilities,
): ServedRung | null {
  return stream?.codec === undefined ? walkRungs(rungs, gpu, client) : takeRungOf(rungs, stream.codec);
}

/**
 * One profile lower where the encoder was measured to be too slow for what would be served. A single step: what lies
 * below is not held against its measurements again.
 * @returns null: served as it is
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

/** The rungs of which `serve` takes one. */
export function rungsInReach(admitted: Admitted): string[] {
  const { profile } = admitted;
  if (profile === null) return [];
  const chains = [profile, oneBelow(admitted, profile.profile.id)];
  return chains.flatMap((chain) => chain?.rungs.map(({ id }) => id) ?? []);
}

/** A chain has no rung only where a release that knew none left the profile so. */
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
