/**
 * POST /v1/sessions: what is read beforehand, then one transaction that takes a GPU's encode slots, the home and the
 * row. What decides lies in admission.ts and placement.ts; what follows on the host happens off the request.
 */
import { type EncoderFamily, encoderFamily } from '@footlight/protocol';
import type { HomeSpec } from '@footlight/protocol/agent';
import type { Body, Placement } from '@footlight/protocol/rest';
import { flag, type Tx, toJson } from '../../platform/database/index.ts';
import type { ApiError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { holdRung } from '../../profiles/index.ts';
import type { Settings } from '../../settings/index.ts';
import type { MintedToken, SignalingTokens } from '../../signaling/index.ts';
import { claimHome, foreseeHome } from '../../storage/index.ts';
import type { Assignment } from '../app-spec.ts';
import { withHome } from '../app-spec.ts';
import {
  catalogReader,
  holdFacts,
  type Launcher,
  loadHeldFacts,
  loadSnapshot,
  lockGpus,
} from '../launch-store.ts';
import {
  countInFlight,
  giveBack,
  loadBareHosts,
  loadGpus,
  loadServing,
  type Serving,
  takeSlots,
} from '../placement-store.ts';
import type { SessionRow } from '../record.ts';
import { insertPlacement, insertSession } from '../store.ts';
import { lowerH264Profile, rungsOf } from '../stream.ts';
import {
  type Admitted,
  admit,
  admitHeld,
  homeAppOf,
  PERSONAL_TERMS,
  type Served,
  serve,
  type Terms,
  VOLUME_FOR_PROCESS,
} from './admission.ts';
import { cutExplanation, explain } from './explanation.ts';
import {
  decidePlacement,
  type GpuFacts,
  type Placement as Judged,
  refusalCode,
  refuseBareHost,
  vramVeto,
} from './placement.ts';
import { type Refusal, refusalError } from './refusal.ts';

/** Placing is tried this often before the fleet counts as exhausted. */
const MAX_ATTEMPTS = 50;
/**
 * Best GPUs that a launch looks at before it looks at all of them: more than there are transactions at once, each of
 * which may hold one.
 */
const FIRST_LOOK = 32;
const WHOLE_FLEET = 1_000_000;
const DEFAULT_IDLE_TIMEOUT_SECS = 120;
const DEFAULT_APP_BOOT_TIMEOUT_SECS = 300;
const NEVER = 0;

export type LaunchRequest = Body<'sessions.launch'>;

export interface Launched {
  row: SessionRow;
  /** null: nothing of it is streamed. */
  token: MintedToken | null;
  assignment: Assignment;
}

/** What a transaction came to when it did not come to a session. */
type Undone =
  /** Others held what this launch wanted: only a pass that waits for them can tell. */
  | 'contended'
  /** The rung went away since it was read. */
  | 'stale';

/** A GPU whose slots the transaction took, and all that was judged on the way. */
interface Placed {
  gpu: GpuFacts;
  judged: Judged;
}

export interface Launches {
  /**
   * @param terms left out: those of a person's own launch
   * @throws ApiError with the first refusal of the fixed order; nothing is left behind then
   */
  launch(launcher: Launcher, request: LaunchRequest, terms?: Terms): Promise<Launched>;
  /** What a launch by this person would come to. Writes and locks nothing. */
  preview(launcher: Launcher, request: LaunchRequest): Promise<Placement>;
}

export function createLauncher(
  platform: Platform,
  deps: { settings: Settings; tokens: SignalingTokens },
): Launches {
  const { clock, config, database, logger, random } = platform;
  const placement = {
    vramMinFreeMb: config.sessions.vramMinFreeMb,
    vramInflightEstimateMb: config.sessions.vramInflightEstimateMb,
    vramStalenessSecs: config.sessions.vramStalenessSecs,
  };

  const readCatalog = catalogReader(database);

  /** Rows 2 to 10. */
  async function look(
    launcher: Launcher,
    request: LaunchRequest,
    terms: Terms,
  ): Promise<ReturnType<typeof admit>> {
    const snapshot = await loadSnapshot(
      database.db,
      launcher,
      request.app_id,
      {
        catalog: await readCatalog(),
        settings: await deps.settings.current(),
        prefersHomeHost: config.sessions.placementPolicy === 'locality',
      },
      clock.nowMs(),
    );
    return admit(snapshot, request, terms);
  }

  /**
   * Takes the slots of one GPU: the first of the order that nobody else holds, and that passes rules 5 and 6 as it is
   * then.
   * @param wait false: rows that others hold are passed over; true: they are waited for, and the answer is final
   */
  async function place(tx: Tx, { demand }: Admitted, wait: boolean): Promise<Placed | 'contended' | Judged> {
    const nowMs = clock.nowMs();
    if (wait) await lockGpus(database, tx, null);
    let looked = await loadGpus(tx, demand, placement, nowMs, FIRST_LOOK);
    let judged = decidePlacement(looked, demand, placement, nowMs);
    if (judged.candidates.length === 0 && looked.length === FIRST_LOOK) {
      looked = await loadGpus(tx, demand, placement, nowMs, WHOLE_FLEET);
      judged = decidePlacement(looked, demand, placement, nowMs);
    }
    const wanted = new Map(judged.candidates.map((gpu) => [gpu.gpu_id, gpu]));
    for (let attempt = 0; attempt < MAX_ATTEMPTS && wanted.size > 0; attempt++) {
      const taken = await takeSlots(
        database,
        tx,
        [...wanted.keys()].slice(0, FIRST_LOOK),
        demand.encode_slots,
      );
      if (taken === null) break;
      const gpu = wanted.get(taken.gpu_id) as GpuFacts;
      const in_flight = demand.skip_vram_veto ? 0 : await countInFlight(tx, taken, placement, nowMs);
      if (demand.skip_vram_veto || vramVeto({ ...taken, in_flight }, placement, nowMs) === null)
        return { gpu, judged };
      await giveBack(tx, taken.gpu_id, demand.encode_slots);
      wanted.delete(taken.gpu_id);
    }
    // SQLite's transaction holds the only write lock, so what it saw cannot be in anybody else's hands.
    return wait || database.dialect === 'sqlite' ? judged : 'contended';
  }

  /** One attempt, all of it or nothing. */
  async function attempt(
    tx: Tx,
    launcher: Launcher,
    admitted: Admitted,
    wait: boolean,
  ): Promise<Launched | Undone> {
    const held = await holdFacts(database, tx, launcher, admitted.app.id);
    const refusal = admitHeld(admitted, held);
    if (refusal !== null) throw refusalError(refusal);

    const placed = await place(tx, admitted, wait);
    if (placed === 'contended') return placed;
    if (!('gpu' in placed)) throw refuse(launcher, admitted, placed);
    const { gpu, judged } = placed;
    const serving = await loadServing(tx, gpu, !admitted.viewer.isAdmin && admitted.profile !== null);
    const nowMs = clock.nowMs();
    const outcome = serve(admitted, serving, nowMs);
    if ('refusal' in outcome) throw refusalError(outcome.refusal);
    const { served } = outcome;
    // Whoever deletes a rung looks for sessions of it first, and must find this one.
    if (served.rung !== null && !(await holdRung(database, tx, served.rung.rung.id))) return 'stale';

    const home = await claim(tx, launcher.userId, held.username, admitted, gpu, nowMs);
    const row = sessionRow(random.uuid(), launcher, admitted, gpu, serving, served, nowMs);
    await insertSession(tx, row);
    const explanation = explain(null, judged, served.rung?.decision ?? null, placement, nowMs);
    await insertPlacement(tx, row.id, cutExplanation(explanation));
    const token = admitted.topology === 'local_only' ? null : await deps.tokens.mint(tx, row.id);
    return { row, token, assignment: assignmentOf(row, admitted, serving, home) };
  }

  async function claim(
    tx: Tx,
    userId: string,
    username: string,
    admitted: Admitted,
    gpu: GpuFacts,
    nowMs: number,
  ): Promise<Pick<HomeSpec, 'provider' | 'ref'> | null> {
    const claim = homeClaim(userId, username, admitted, gpu);
    if (claim === null) return null;
    const home = await claimHome(tx, random, claim, nowMs);
    const refusal = refuseHome(home?.provider ?? null, admitted);
    if (refusal !== null) throw refusalError(refusal);
    return home;
  }

  function refuse(launcher: Launcher, admitted: Admitted, judged: Judged): ApiError {
    const code = refusalCode(judged);
    logger.info({
      event: 'session.refused',
      code,
      user_id: launcher.userId,
      app_id: admitted.app.id,
      demand: admitted.demand,
      refusals: judged.refusals.slice(0, MAX_ATTEMPTS),
    });
    return refusalError({ code });
  }

  /** The whole fleet judged, with a word on the hosts that have no GPU. */
  async function judgeFleet({ demand }: Admitted, nowMs: number): Promise<Judged> {
    const gpus = await loadGpus(database.db, demand, placement, nowMs, WHOLE_FLEET);
    const judged = decidePlacement(gpus, demand, placement, nowMs);
    const bare = (await loadBareHosts(database.db)).map(refuseBareHost);
    return { ...judged, refusals: [...judged.refusals, ...bare] };
  }

  return {
    async launch(launcher, request, terms = PERSONAL_TERMS) {
      for (let round = 0; round < MAX_ATTEMPTS; round++) {
        const looked = await look(launcher, request, terms);
        if ('refusal' in looked) throw refusalError(looked.refusal);
        for (const wait of [false, true]) {
          const outcome = await database.transaction((tx) => attempt(tx, launcher, looked.admitted, wait));
          if (outcome === 'stale') break;
          if (outcome !== 'contended') return outcome;
        }
      }
      throw refusalError({ code: 'capacity_exhausted' });
    },

    async preview(launcher, request) {
      const nowMs = clock.nowMs();
      const answer = (
        code: Refusal['code'] | null,
        judged: Judged | null,
        served: Served | null,
      ): Placement => explain(code, judged, served?.rung?.decision ?? null, placement, nowMs);
      const looked = await look(launcher, request, PERSONAL_TERMS);
      if ('refusal' in looked) return answer(looked.refusal.code, null, null);
      const { admitted } = looked;
      const held = await loadHeldFacts(database.db, launcher, admitted.app.id);
      const refusal = admitHeld(admitted, held);
      if (refusal !== null) return answer(refusal.code, null, null);
      const judged = await judgeFleet(admitted, nowMs);
      const [gpu] = judged.candidates;
      if (gpu === undefined) return answer(refusalCode(judged), judged, null);
      const outcome = serve(admitted, await loadServing(database.db, gpu, !admitted.viewer.isAdmin), nowMs);
      if ('refusal' in outcome) return answer(outcome.refusal.code, judged, null);
      const claim = homeClaim(launcher.userId, held.username, admitted, gpu);
      const homeless = claim && refuseHome(await foreseeHome(database.db, claim), admitted);
      return answer(homeless?.code ?? null, judged, outcome.served);
    },
  };
}

function homeClaim(userId: string, username: string, admitted: Admitted, gpu: GpuFacts) {
  const appId = homeAppOf(admitted);
  if (appId === null) return null;
  return {
    owner: { userId, username, appId, appName: admitted.owner.name },
    hostId: gpu.host.host_id,
    homeRoot: gpu.host.home_root,
    provider: admitted.homeProvider,
  };
}

/** Row 18. @param provider of the home that there is, or would be; null: no place for one can be formed */
function refuseHome(provider: HomeSpec['provider'] | null, { runtime }: Admitted): Refusal | null {
  if (provider === null)
    return { code: 'internal', message: 'No place for the home of this app can be formed.' };
  return provider === 'volume' && runtime.runtime === 'process' ? VOLUME_FOR_PROCESS : null;
}

function sessionRow(
  id: string,
  launcher: Launcher,
  admitted: Admitted,
  gpu: GpuFacts,
  serving: Serving,
  { stream, profileId, rung }: Served,
  nowMs: number,
): SessionRow {
  const encoder: EncoderFamily = encoderFamily.safeParse(serving.encoder).data ?? 'openh264';
  const offered = serving.encoders?.find(
    (row) => row.family === encoder && row.gpu_index === gpu.gpu_index && row.codec === 'h264',
  );
  return {
    id,
    user_id: launcher.userId,
    app_id: admitted.app.id,
    host_id: gpu.host.host_id,
    gpu_id: gpu.gpu_id,
    gpu_index: gpu.gpu_index,
    device_id: launcher.deviceId,
    state: 'assigned',
    state_detail: null,
    error_message: null,
    failure_code: null,
    end_reason: null,
    stop_reason: null,
    app_log_tail: null,
    home_bytes: null,
    profile_id: profileId,
    stream_profile_id: rung?.rung.id ?? null,
    video_topology: admitted.topology,
    encode_slots: admitted.demand.encode_slots,
    home_app_id: homeAppOf(admitted),
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
    // What is not encoded cannot be recorded.
    stream_recording: flag(
      admitted.recorder && admitted.topology !== 'local_only' && gpu.host.features.includes('recorder'),
    ),
    codec_decision: rung === null ? null : toJson(rung.decision),
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
  { settings }: Serving,
  home: Pick<HomeSpec, 'provider' | 'ref'> | null,
): Assignment {
  return {
    session_id: row.id,
    user_id: row.user_id,
    app_id: row.app_id,
    gpu_index: row.gpu_index ?? 0,
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
    video_topology: row.video_topology,
    // Whoever sits at a display needs no viewer, so the want of one ends nothing there.
    idle_timeout_secs:
      row.video_topology === 'stream_only'
        ? seconds(settings.idle_timeout_secs, DEFAULT_IDLE_TIMEOUT_SECS)
        : NEVER,
    app_boot_timeout_secs: seconds(settings.app_boot_timeout_secs, DEFAULT_APP_BOOT_TIMEOUT_SECS),
  };
}

/** A knob in effect on the host, as the agent reports it; 0 = never. */
function seconds(reported: string | undefined, fallback: number): number {
  const value = Number(reported);
  return reported !== undefined && Number.isSafeInteger(value) && value >= 0 ? value : fallback;
}
