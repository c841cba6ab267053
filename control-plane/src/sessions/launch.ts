/**
 * POST /v1/sessions: the checks in their fixed order, then one transaction that takes a GPU's encode slots, the home
 * and the row. What follows on the host happens off the request.
 */
import type { EncoderFamily } from '@footlight/protocol';
import type { HomeSpec } from '@footlight/protocol/agent';
import type { Body } from '@footlight/protocol/rest';
import { SECOND_MS } from '../platform/clock.ts';
import { flag, type Tx } from '../platform/database/index.ts';
import { ApiError, invalid } from '../platform/errors.ts';
import type { Caller } from '../platform/http/contract.ts';
import type { Platform } from '../platform/platform.ts';
import type { Settings } from '../settings/index.ts';
import type { MintedToken, SignalingTokens } from '../signaling/index.ts';
import { claimHome, loadNewestHomeHost } from '../storage/index.ts';
import { type Demand, decidePlacement, type Refusal, refusalCode, refusesForNow } from './admission.ts';
import { type MergedRuntime, mergeRuntime, withHome } from './app-spec.ts';
import type { Assignment } from './driver.ts';
import {
  deviceExists,
  holdEntitlement,
  isEntitled,
  type LaunchApp,
  loadLaunchApp,
  lockGpus,
  lockUser,
  tryLockGpu,
} from './launch-store.ts';
import { loadGpus, type PlacementRow, takeSlots } from './placement-store.ts';
import type { SessionRow } from './record.ts';
import { insertSession, loadQuotaSessions } from './store.ts';
import { encodes, lowerH264Profile, resolveLegacyStream, rungsOf, type StreamPlan } from './stream.ts';

/** Placing is tried this often before the fleet counts as exhausted. */
const MAX_ATTEMPTS = 50;
const DEFAULT_IDLE_TIMEOUT_SECS = 120;
const DEFAULT_APP_BOOT_TIMEOUT_SECS = 300;

export type LaunchRequest = Body<'sessions.launch'>;

interface Launched {
  row: SessionRow;
  token: MintedToken;
  assignment: Assignment;
}

/** What the checks before the transaction found out. */
interface Admitted {
  app: LaunchApp;
  /** The app that owns runtime, resources and home: the parent of a tile, else the app itself. */
  owner: LaunchApp;
  runtime: MergedRuntime;
  homeProvider: 'local' | 'volume';
  demand: Demand;
  stream: StreamPlan;
  mic: boolean;
  recorder: boolean;
}

export interface Launcher {
  /** @throws ApiError with the first refusal of the fixed order; nothing is left behind then */
  launch(caller: Caller, request: LaunchRequest): Promise<Launched>;
}

export function createLauncher(
  platform: Platform,
  deps: { settings: Settings; tokens: SignalingTokens },
): Launcher {
  const { clock, config, database, logger, random } = platform;
  const placement = {
    vramMinFreeMb: config.sessions.vramMinFreeMb,
    vramInflightEstimateMb: config.sessions.vramInflightEstimateMb,
    vramStalenessSecs: config.sessions.vramStalenessSecs,
  };
  const vramStalenessMs = placement.vramStalenessSecs * SECOND_MS;

  /** The checks that need no lock, in their order. */
  async function admit(caller: Caller, request: LaunchRequest): Promise<Admitted> {
    const app = await loadLaunchApp(database.db, request.app_id);
    if (app === null || !app.enabled) throw new ApiError('not_found', { message: 'There is no such app.' });
    const parent = app.parent_app_id === null ? null : await loadLaunchApp(database.db, app.parent_app_id);
    if (parent !== null && !parent.enabled)
      throw new ApiError('parent_app_disabled', {
        message: `${parent.name} is disabled, and this app needs it.`,
      });
    if (!(await isEntitled(database.db, caller.userId, app.id))) throw notEntitled();
    if (request.profile_id !== undefined) throw invalid('profile_id: there is no such launch profile');

    const owner = parent ?? app;
    const tile = parent === null ? null : { source: app.external_source, external_id: app.external_id };
    const runtime = mergeRuntime(owner, owner.preset, tile, app.name);
    if (runtime === null)
      throw new ApiError('conflict', { message: 'The network of this app is not one that apps may use.' });
    const settings = await deps.settings.current();
    const homeProvider = settings.storageProvider === 'volume' ? 'volume' : 'local';
    let pinHostId: string | null = null;
    if (parent !== null && runtime.managed_home) {
      const home = await loadNewestHomeHost(database.db, caller.userId, parent.id);
      if (home === null) throw new ApiError('home_not_provisioned');
      pinHostId = home.host_id;
    }
    if (runtime.managed_home && homeProvider === 'volume' && runtime.runtime === 'process')
      throw volumeForProcess();
    return {
      app,
      owner,
      runtime,
      homeProvider,
      demand: {
        encode_slots: owner.default_encode_slots,
        runtime: runtime.runtime,
        needs_home_root: runtime.managed_home && homeProvider === 'local',
        pin_host_id: pinHostId,
        prefer_host_id: await preferredHost(caller.userId, owner.id),
      },
      stream: resolveLegacyStream(
        {
          width: app.default_width,
          height: app.default_height,
          fps: app.default_fps,
          bitrate_kbps: app.default_bitrate_kbps,
        },
        request.stream,
        caller.role === 'admin',
        null,
      ),
      mic: request.mic && settings.micCaptureEnabled,
      recorder: settings.flightRecorderEnabled,
    };
  }

  async function preferredHost(userId: string, ownerAppId: string): Promise<string | null> {
    if (config.sessions.placementPolicy !== 'locality') return null;
    return (await loadNewestHomeHost(database.db, userId, ownerAppId))?.host_id ?? null;
  }

  /**
   * Takes the slots of one GPU.
   * @param wait false: rows that others hold are passed over; true: they are waited for, and the answer is final
   * @returns the GPU, or why there is none; 'contended' asks for another pass
   */
  async function place(
    tx: Tx,
    demand: Demand,
    wait: boolean,
  ): Promise<
    PlacementRow | 'contended' | { code: 'no_host_available' | 'capacity_exhausted'; refusals: Refusal[] }
  > {
    const nowMs = clock.nowMs();
    if (wait) await lockGpus(database, tx, null);
    const open = await loadGpus(tx, { minFreeSlots: demand.encode_slots, vramStalenessMs });
    const byId = new Map(open.map((gpu) => [gpu.gpu_id, gpu]));
    const { candidates } = decidePlacement(open, demand, placement, nowMs);
    for (const candidate of candidates.slice(0, MAX_ATTEMPTS)) {
      if (!wait && !(await tryLockGpu(database, tx, candidate.gpu_id))) continue;
      const [locked] = wait
        ? [byId.get(candidate.gpu_id)]
        : await loadGpus(tx, { minFreeSlots: demand.encode_slots, gpuId: candidate.gpu_id, vramStalenessMs });
      if (locked === undefined || refusesForNow(locked, demand, placement, nowMs) !== null) continue;
      if (await takeSlots(tx, locked.gpu_id, demand.encode_slots)) return locked;
    }
    // SQLite's transaction holds the only write lock, so what it saw cannot be in anybody else's hands.
    if (!wait && database.dialect !== 'sqlite') return 'contended';
    const all = await loadGpus(tx, { minFreeSlots: null, vramStalenessMs });
    const decision = decidePlacement(all, demand, placement, nowMs);
    return { code: refusalCode(decision), refusals: decision.refusals };
  }

  /** One attempt, all of it or nothing. */
  async function attempt(
    tx: Tx,
    caller: Caller,
    admitted: Admitted,
    wait: boolean,
  ): Promise<Launched | 'contended'> {
    const user = await lockUser(database, tx, caller.userId);
    if (user === undefined || !(await holdEntitlement(database, tx, caller.userId, admitted.app.id)))
      throw notEntitled();
    // The sign-in was revoked with its device while the launch was being looked at.
    if (caller.deviceId !== null && !(await deviceExists(tx, caller.deviceId)))
      throw new ApiError('unauthorized');
    const held = await loadQuotaSessions(tx, caller.userId);
    if (held.length >= user.max_concurrent_sessions) throw new ApiError('session_quota_exceeded');
    const homeAppId = admitted.runtime.managed_home ? admitted.owner.id : null;
    const holder =
      homeAppId === null ? undefined : held.find((session) => session.home_app_ids.includes(homeAppId));
    if (holder !== undefined) throw new ApiError('home_in_use', { session_id: holder.id });

    const gpu = await place(tx, admitted.demand, wait);
    if (gpu === 'contended') return gpu;
    if ('code' in gpu) throw refuse(caller, admitted, gpu);
    if (!encodes(gpu.codecs, admitted.stream.codec))
      throw new ApiError('conflict', { message: `The host cannot encode ${admitted.stream.codec}.` });
    const nowMs = clock.nowMs();
    let home: Pick<HomeSpec, 'provider' | 'ref'> | null = null;
    if (homeAppId !== null) {
      home = await claimHome(
        tx,
        random,
        {
          owner: {
            userId: caller.userId,
            username: user.username,
            appId: homeAppId,
            appName: admitted.owner.name,
          },
          hostId: gpu.host.host_id,
          homeRoot: gpu.host.home_root,
          provider: admitted.homeProvider,
        },
        nowMs,
      );
      if (home === null)
        throw new ApiError('internal', { message: 'No place for the home of this app can be formed.' });
      if (home.provider === 'volume' && admitted.runtime.runtime === 'process') throw volumeForProcess();
    }
    const row = sessionRow(random.uuid(), caller, admitted, gpu, nowMs);
    await insertSession(tx, row);
    const token = await deps.tokens.mint(tx, row.id);
    return { row, token, assignment: assignmentOf(row, admitted, gpu, home) };
  }

  function refuse(
    caller: Caller,
    admitted: Admitted,
    refusal: { code: 'no_host_available' | 'capacity_exhausted'; refusals: Refusal[] },
  ): ApiError {
    logger.info({
      event: 'session.refused',
      code: refusal.code,
      user_id: caller.userId,
      app_id: admitted.app.id,
      demand: admitted.demand,
      refusals: refusal.refusals.slice(0, MAX_ATTEMPTS),
    });
    return new ApiError(refusal.code, refusal.code === 'capacity_exhausted' ? { retryAfterSecs: 5 } : {});
  }

  return {
    async launch(caller, request) {
      const admitted = await admit(caller, request);
      for (const wait of [false, true]) {
        const outcome = await database.transaction((tx) => attempt(tx, caller, admitted, wait));
        if (outcome !== 'contended') return outcome;
      }
      throw new ApiError('capacity_exhausted', { retryAfterSecs: 5 });
    },
  };
}

const notEntitled = (): ApiError =>
  new ApiError('forbidden', { message: 'You are not entitled to this app.' });

const volumeForProcess = (): ApiError =>
  new ApiError('conflict', {
    message: 'Homes are engine volumes here, and this app runs without an engine.',
  });

function sessionRow(
  id: string,
  caller: Caller,
  admitted: Admitted,
  gpu: PlacementRow,
  nowMs: number,
): SessionRow {
  const { stream } = admitted;
  const encoder = (gpu.host.encoder ?? 'openh264') as EncoderFamily;
  const offered = gpu.encoders?.find(
    (row) => row.family === encoder && row.gpu_index === gpu.gpu_index && row.codec === 'h264',
  );
  return {
    id,
    user_id: caller.userId,
    app_id: admitted.app.id,
    host_id: gpu.host.host_id,
    gpu_id: gpu.gpu_id,
    gpu_index: gpu.gpu_index,
    device_id: caller.deviceId,
    state: 'assigned',
    state_detail: null,
    error_message: null,
    failure_code: null,
    end_reason: null,
    stop_reason: null,
    app_log_tail: null,
    home_bytes: null,
    profile_id: null,
    stream_profile_id: null,
    encode_slots: admitted.demand.encode_slots,
    home_app_id: admitted.runtime.managed_home ? admitted.owner.id : null,
    encoder,
    stream_width: stream.width,
    stream_height: stream.height,
    stream_fps: stream.fps,
    stream_bitrate_kbps: stream.bitrate_kbps,
    stream_abr_floor_kbps: stream.abr_floor_kbps,
    stream_codec: stream.codec,
    stream_h264_profile: lowerH264Profile(stream.h264_profile, offered?.h264_profiles ?? null),
    stream_playout0_ms: stream.playout0_ms,
    stream_mic: flag(admitted.mic),
    stream_recording: flag(admitted.recorder && gpu.host.features.includes('recorder')),
    codec_decision: null,
    negotiated_codec: null,
    relay_ready: 0,
    swap_app_id: null,
    swap_home_app_id: null,
    swap_state: null,
    created_at: nowMs,
    started_at: null,
    ended_at: null,
    updated_at: nowMs,
  };
}

function assignmentOf(
  row: SessionRow,
  admitted: Admitted,
  gpu: PlacementRow,
  home: Pick<HomeSpec, 'provider' | 'ref'> | null,
): Assignment {
  return {
    session_id: row.id,
    user_id: row.user_id,
    app_id: row.app_id,
    gpu_index: gpu.gpu_index,
    app: withHome(admitted.runtime, home),
    stream: {
      width: row.stream_width,
      height: row.stream_height,
      fps: row.stream_fps,
      bitrate_kbps: row.stream_bitrate_kbps,
      abr_floor_kbps: row.stream_abr_floor_kbps,
      codec: row.stream_codec,
      h264_profile: row.stream_h264_profile,
      playout0_ms: row.stream_playout0_ms,
      audio: true,
      mic: row.stream_mic !== 0,
      ...(row.stream_recording !== 0 && { recorder: true }),
      rungs: rungsOf(row.stream_width, row.stream_height),
    },
    resources: { encode_slots: row.encode_slots, vram_mb: 0 },
    video_topology: 'stream_only',
    idle_timeout_secs: seconds(gpu.settings.idle_timeout_secs, DEFAULT_IDLE_TIMEOUT_SECS),
    app_boot_timeout_secs: seconds(gpu.settings.app_boot_timeout_secs, DEFAULT_APP_BOOT_TIMEOUT_SECS),
  };
}

/** A knob in effect on the host, as the agent reports it; 0 = never. */
function seconds(reported: string | undefined, fallback: number): number {
  const value = Number(reported);
  return reported !== undefined && Number.isSafeInteger(value) && value >= 0 ? value : fallback;
}
