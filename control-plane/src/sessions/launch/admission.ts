/**
 * Admission checks of a launch in their fixed order, as pure functions over facts: `admit` before the transaction,
 * `admitLocked` with the user's row locked; stream/serve.ts follows after a GPU was booked. The first refusal is the answer.
 * Source: docs/sessions.md, "Launch".
 */
import type { HomeSpec } from '@footlight/protocol/agent';
import { type MergedRuntime, mergeRuntime } from '../app-spec.ts';
import { type ChoiceFacts, chooseProfile } from '../stream/profile-choice.ts';
import type { Viewer } from '../stream/stream.ts';
import type { LaunchApp } from './app-store.ts';
import type { QuotaSession } from './quota-store.ts';
import type { Refusal, Refused } from './refusal.ts';
import type { AdmittedLaunch, BenchTerms, LaunchRequest } from './stages.ts';

/** Facts that a launch reads before its transaction. */
export interface LaunchFacts {
  /** null: the app is unknown or disabled. */
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
  /**
   * Host with the user's most recently used home for this app or, for a tile, its parent; null: the user has no home.
   */
  homeHostId: string | null;
  /** Whether this host is preferred among the suitable hosts. */
  prefersHomeHost: boolean;
  /** Hosts to which a command recently could not be delivered. */
  unreachable: ReadonlySet<string>;
}

const NOT_ENTITLED: Refusal = { code: 'forbidden', message: 'You are not entitled to this app.' };

/**
 * An app with the owner of its runtime, resources and home. The owner of a tile is its parent; any other app owns
 * itself.
 */
interface OwnedApp {
  app: LaunchApp;
  owner: LaunchApp;
}

export interface RunnableApp extends OwnedApp {
  runtime: MergedRuntime;
}

/** @param app null: the app is unknown or disabled. @param parent null: the app is no tile */
export function admitApp(app: LaunchApp | null, parent: LaunchApp | null): OwnedApp | Refused {
  if (app === null) return { refusal: { code: 'not_found', message: 'There is no such app.' } };
  if (parent === null || parent.enabled) return { app, owner: parent ?? app };
  const message = `${parent.name} is disabled, and this app needs it.`;
  return { refusal: { code: 'parent_app_disabled', message } };
}

export function admitRuntime({ app, owner }: OwnedApp): RunnableApp | Refused {
  const tile = app === owner ? null : { source: app.external_source, external_id: app.external_id };
  const runtime = mergeRuntime(owner, owner.preset, tile, app.name);
  if (runtime !== null) return { app, owner, runtime };
  const message = 'The network of this app is not one that apps may use.';
  return { refusal: { code: 'conflict', message } };
}

/**
 * Refuses a home that another session uses, because a home can serve only one session. @param others the user's other
 * sessions that use homes
 */
export function refuseHeldHome(
  homeAppId: string | null,
  others: readonly Pick<QuotaSession, 'id' | 'home_app_ids'>[],
): Refusal | null {
  const holder = homeAppId && others.find((session) => session.home_app_ids.includes(homeAppId));
  return holder ? { code: 'home_in_use', session_id: holder.id } : null;
}

/** @param provider provider of the existing or new home; null: no path for a home can be built */
export function refuseHomeProvider(
  provider: HomeSpec['provider'] | null,
  { runtime, home_base }: Pick<MergedRuntime, 'runtime' | 'home_base'>,
): Refusal | null {
  if (provider === null)
    return { code: 'internal', message: 'No place for the home of this app can be formed.' };
  if (provider === 'volume' && home_base !== null)
    return { code: 'conflict', message: 'This home is an engine volume, which cannot have a base.' };
  if (provider === 'local' || runtime === 'container') return null;
  const message = 'Homes are engine volumes here, and this app runs without an engine.';
  return { code: 'conflict', message };
}

/** Refuses an app whose preset lost its homes, because the app must not start without its base. */
export const refuseBase = ({ home_base }: Pick<MergedRuntime, 'home_base'>): Refusal | null =>
  home_base === null
    ? null
    : { code: 'conflict', message: 'This app has a base for homes, but keeps no homes.' };

/** Runs the checks that need no locks. */
export function admit(facts: LaunchFacts, request: LaunchRequest): AdmittedLaunch | Refused {
  const { choice } = facts;
  const { body, terms } = request;
  const found = admitApp(facts.app, facts.parent);
  if ('refusal' in found) return found;
  const { app, owner } = found;
  const { bench } = terms;
  // A bench launch needs no entitlement, and its rung is already chosen.
  if (bench === null && !facts.entitled) return { refusal: NOT_ENTITLED };
  const chosen = bench === null ? chooseProfile({ ...choice, app }, body) : { profile: null };
  if ('refusal' in chosen) return chosen;

  const admitted = admitRuntime(found);
  if ('refusal' in admitted) return admitted;
  const runnable =
    bench === null ? admitted : { ...admitted, runtime: benchRuntime(admitted.runtime, bench) };
  const { runtime } = runnable;
  let { pin } = terms;
  if (app !== owner && runtime.managed_home) {
    const { homeHostId } = facts;
    if (homeHostId === null || (pin !== null && pin.host_id !== homeHostId))
      return { refusal: { code: 'home_not_provisioned' } };
    pin ??= { host_id: homeHostId, gpu_index: null };
  }
  const homeProvider = facts.settings.storageProvider === 'volume' ? 'volume' : 'local';
  const refusal = runtime.managed_home ? refuseHomeProvider(homeProvider, runtime) : refuseBase(runtime);
  if (refusal !== null) return { refusal };
  return {
    ...request,
    ...runnable,
    homeProvider,
    demand: {
      encode_slots: terms.topology === 'local_only' ? 0 : bench === null ? owner.default_encode_slots : 1,
      runtime: runtime.runtime,
      needs_home_root: runtime.managed_home && homeProvider === 'local',
      needs_home_base: runtime.home_base !== null,
      pin,
      prefer_host_id: facts.prefersHomeHost ? facts.homeHostId : null,
      image: bench === null ? owner.required_image : null,
      skip_vram_veto: terms.skipVramVeto,
      encoder: bench?.encoder ?? null,
      unreachable: facts.unreachable,
    },
    profile: chosen.profile,
    profiles: choice.profiles,
    client: choice.client,
    viewer: { ...facts.viewer, isNative: body.client_type === 'native' },
    mic: body.mic && facts.settings.micCaptureEnabled,
    recorder: bench === null && facts.settings.flightRecorderEnabled,
  };
}

/**
 * Runtime of a bench session: without a home, and with a picture that changes everywhere, so that it needs the full
 * frame rate and bitrate.
 */
function benchRuntime(runtime: MergedRuntime, { rung, bitrateKbps }: BenchTerms): MergedRuntime {
  return {
    ...runtime,
    managed_home: false,
    home_base: null,
    app: {
      ...runtime.app,
      env: {
        ...runtime.app.env,
        FOOTLIGHT_DIAGNOSTICS_FPS: String(rung.fps),
        FOOTLIGHT_DIAGNOSTICS_KBPS: String(bitrateKbps),
        FOOTLIGHT_DIAGNOSTICS_MOTION: 'full',
      },
    },
  };
}

/** Facts that the transaction reads with the user's row locked. */
export interface LockedFacts {
  username: string;
  /** null: the account was deleted. */
  maxConcurrentSessions: number | null;
  disabled: boolean;
  /** Entitlement, read again with the rows locked. */
  entitled: boolean;
  /** Whether the device of the sign-in still exists; true if the sign-in has no device. */
  deviceExists: boolean;
  /** Number of the user's sessions that count for the quota. */
  sessions: number;
  /** The user's sessions that use homes. */
  homes: readonly Pick<QuotaSession, 'id' | 'home_app_ids'>[];
}

/** Runs the checks with the user's row locked: account, entitlement, quota, home. @returns null: all checks passed */
export function admitLocked(launch: AdmittedLaunch, facts: LockedFacts): Refusal | null {
  const isEntitled = facts.entitled || launch.terms.bench !== null;
  if (facts.maxConcurrentSessions === null || !isEntitled) return NOT_ENTITLED;
  // The account was disabled after admission. Its sessions were stopped then, but this one did not exist yet.
  if (facts.disabled) return { code: 'forbidden', message: 'The account is disabled.' };
  // The sign-in was revoked with its device after admission.
  if (!facts.deviceExists) return { code: 'unauthorized' };
  if (facts.sessions >= facts.maxConcurrentSessions) return { code: 'session_quota_exceeded' };
  return refuseHeldHome(homeAppOf(launch), facts.homes);
}

/** The app whose home the session uses; null: it uses no home. */
export const homeAppOf = ({ runtime, owner }: Pick<RunnableApp, 'runtime' | 'owner'>): string | null =>
  runtime.managed_home ? owner.id : null;
