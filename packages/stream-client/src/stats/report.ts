/** Converts RTCPeerConnection.getStats() into the numbers of one second. Pure. */
import type { ClientMetrics, NetworkPath } from '@footlight/protocol/telemetry';

/** Totals and current values of one report; undefined when not measured. */
export interface RawSample {
  atMs: number;
  framesReceived: number | undefined;
  framesDecoded: number | undefined;
  bytesReceived: number | undefined;
  packetsReceived: number | undefined;
  packetsLost: number | undefined;
  framesDropped: number | undefined;
  freezeCount: number | undefined;
  totalDecodeTime: number | undefined;
  jitterBufferDelay: number | undefined;
  jitterBufferTargetDelay: number | undefined;
  jitterBufferEmittedCount: number | undefined;
  jitter: number | undefined;
  rtt: number | undefined;
  /** bytes received on the selected path: pictures, sound and messages */
  pathBytes: number | undefined;
  /** null: no path is selected yet, or the browser does not report its ends */
  path: NetworkPath | null;
  width: number;
  height: number;
  mimeType: string | null;
}

type Entry = Record<string, unknown>;

const number = (entry: Entry | undefined, key: string) => {
  const value = entry?.[key];
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
};

/**
 * Finds picture, codec and active path in a report.
 * @param atMs monotonic
 */
export function readReport(report: Iterable<unknown>, atMs: number): RawSample {
  const byId = new Map<string, Entry>();
  for (const item of report) {
    const entry = item as Entry;
    if (typeof entry.id === 'string') byId.set(entry.id, entry);
  }
  let video: Entry | undefined;
  let path: Entry | undefined;
  for (const entry of byId.values()) {
    if (entry.type === 'inbound-rtp' && entry.kind === 'video') video ??= entry;
    if (entry.type === 'transport' && typeof entry.selectedCandidatePairId === 'string') {
      path = byId.get(entry.selectedCandidatePairId);
    }
    if (path === undefined && entry.type === 'candidate-pair' && entry.nominated === true) path = entry;
  }
  const endOf = (pair: Entry | undefined, key: string) => byId.get(String(pair?.[key]));
  const codec = typeof video?.codecId === 'string' ? byId.get(video.codecId) : undefined;
  return {
    atMs,
    framesReceived: number(video, 'framesReceived'),
    framesDecoded: number(video, 'framesDecoded'),
    bytesReceived: number(video, 'bytesReceived'),
    packetsReceived: number(video, 'packetsReceived'),
    packetsLost: number(video, 'packetsLost'),
    framesDropped: number(video, 'framesDropped'),
    freezeCount: number(video, 'freezeCount'),
    totalDecodeTime: number(video, 'totalDecodeTime'),
    jitterBufferDelay: number(video, 'jitterBufferDelay'),
    jitterBufferTargetDelay: number(video, 'jitterBufferTargetDelay'),
    jitterBufferEmittedCount: number(video, 'jitterBufferEmittedCount'),
    jitter: number(video, 'jitter'),
    rtt: number(path, 'currentRoundTripTime'),
    pathBytes: number(path, 'bytesReceived'),
    path: pathOf(endOf(path, 'localCandidateId'), endOf(path, 'remoteCandidateId')),
    width: number(video, 'frameWidth') ?? 0,
    height: number(video, 'frameHeight') ?? 0,
    mimeType: typeof codec?.mimeType === 'string' ? codec.mimeType : null,
  };
}

/**
 * @param local the browser's candidate of the selected pair, @param remote the host's
 * Source: W3C webrtc-stats, RTCIceCandidateStats: candidateType, protocol, relayProtocol.
 */
function pathOf(local: Entry | undefined, remote: Entry | undefined): NetworkPath | null {
  if (local === undefined || remote === undefined) return null;
  // A peer-reflexive candidate that was found through a relay has the relay's protocol too.
  if (local.candidateType === 'relay' || local.relayProtocol !== undefined) {
    if (local.relayProtocol === 'tls') return 'turn_tls';
    return local.relayProtocol === 'tcp' ? 'turn_tcp' : 'turn_udp';
  }
  if (remote.candidateType === 'relay') return 'turn_udp';
  return local.protocol === 'tcp' ? 'tcp' : 'udp';
}

/** Growth of a total; undefined: the total is unknown, or was reset. */
function growth(before: number | undefined, after: number | undefined): number | undefined {
  if (before === undefined || after === undefined || after < before) return undefined;
  return after - before;
}

const ratio = (part: number | undefined, whole: number | undefined) =>
  part === undefined || whole === undefined || whole <= 0 ? undefined : part / whole;

/** Differences between two samples of one connection. */
export interface Comparison {
  metrics: ClientMetrics;
  loss: number | null;
  dropped: number;
  freezes: number;
  received: number | undefined;
  decoded: number | undefined;
  packets: number | undefined;
}

export function compare(before: RawSample, after: RawSample): Comparison {
  const seconds = (after.atMs - before.atMs) / 1000;
  const decoded = growth(before.framesDecoded, after.framesDecoded);
  const bytes = growth(before.bytesReceived, after.bytesReceived);
  const packets = growth(before.packetsReceived, after.packetsReceived);
  const lost = growth(before.packetsLost, after.packetsLost) ?? 0;
  const emitted = growth(before.jitterBufferEmittedCount, after.jitterBufferEmittedCount);
  const buffered = ratio(growth(before.jitterBufferDelay, after.jitterBufferDelay), emitted);
  const target = ratio(growth(before.jitterBufferTargetDelay, after.jitterBufferTargetDelay), emitted);
  const decodeTime = ratio(growth(before.totalDecodeTime, after.totalDecodeTime), decoded);
  const metrics: ClientMetrics = {};
  const put = (key: keyof ClientMetrics, value: number | undefined) => {
    if (value !== undefined) metrics[key] = value;
  };
  if (seconds > 0) {
    put('fps', decoded === undefined ? undefined : decoded / seconds);
    put('bitrate_kbps', bytes === undefined ? undefined : (bytes * 8) / 1000 / seconds);
  }
  put('rtt_ms', after.rtt === undefined ? undefined : after.rtt * 1000);
  put('jitter_ms', after.jitter === undefined ? undefined : after.jitter * 1000);
  put('jitter_buffer_ms', buffered === undefined ? undefined : buffered * 1000);
  put('playout_target_ms', target === undefined ? undefined : target * 1000);
  put('decode_ms', decodeTime === undefined ? undefined : decodeTime * 1000);
  put('packets_lost', after.packetsLost);
  put('frames_dropped', after.framesDropped);
  put('freeze_count', after.freezeCount);
  return {
    metrics,
    loss: packets === undefined || packets + lost === 0 ? null : lost / (packets + lost),
    dropped: growth(before.framesDropped, after.framesDropped) ?? 0,
    freezes: growth(before.freezeCount, after.freezeCount) ?? 0,
    received: growth(before.framesReceived, after.framesReceived),
    decoded,
    packets,
  };
}

/** Milliseconds without a decoded frame, while packets arrive, after which the picture counts as stuck. */
const STUCK_AFTER_MS = 5_000;

/**
 * Finds a stuck picture, which does not change while packets arrive. Pure except for its own state; call reset() for a
 * new connection.
 */
export class StuckDetector {
  #sinceMs: number | null = null;

  /** @returns true after each 5 s in which the picture was stuck */
  add(comparison: Comparison, atMs: number, hidden: boolean): boolean {
    const stuck = !hidden && comparison.decoded === 0 && (comparison.packets ?? 0) > 0;
    if (!stuck) {
      this.#sinceMs = null;
      return false;
    }
    // The second before this sample already had no decoded frame.
    this.#sinceMs ??= atMs - 1000;
    if (atMs - this.#sinceMs < STUCK_AFTER_MS) return false;
    this.#sinceMs = null;
    return true;
  }

  reset(): void {
    this.#sinceMs = null;
  }
}
