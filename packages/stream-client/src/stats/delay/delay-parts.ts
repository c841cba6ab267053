import type { DelaySplit } from '../../types.ts';
import { median } from '../numbers.ts';

/** The host's report of one frame. */
export interface HostFrameTimes {
  rtp_timestamp: number;
  /** Unix ms of the host */
  capture_ms: number;
  /** 0: the host did not observe when the frame entered the encoder */
  encode_ms: number;
}

/** The browser's report of one shown frame, monotonic ms; null: the browser does not report the value. */
export interface ShownFrameTimes {
  rtpTimestamp: number;
  /** arrival of the frame's last packet */
  receivedMs: number | null;
  /** from the decoder's input to its output, ms */
  decodeMs: number | null;
  displayMs: number;
}

/** Relation between the clocks of host and page; all values in ms. */
export interface ClockFacts {
  /** Unix time of the host minus Unix time of this page */
  offsetMs: number;
  /** Unix time of this page's monotonic zero */
  originUnixMs: number;
  rttMs: number;
}

/** Recorded frames: two seconds at 240 fps. */
const MAX_SHOWN = 512;
/**
 * Largest number of frames with a report of the host. In a second the host reports four frames, and the first frame
 * after each input (at most 64).
 */
const MAX_NAMED = 128;

/**
 * Divides the time from capture to display of single frames into parts. The capture time is on the host's clock, the
 * other times on this page's clock; the measured offset converts between the clocks. Pure except for its own state;
 * call reset() for a new connection.
 *
 * A frame counts only when both sides have reported it: the host in its timing message, the browser in its frame
 * callback.
 */
export class DelayParts {
  /** keys: RTP timestamps, oldest first */
  #shown = new Map<number, ShownFrameTimes>();
  #named = new Map<number, HostFrameTimes>();
  #both: { host: HostFrameTimes; shown: ShownFrameTimes }[] = [];

  /** The host reported a frame. */
  timed(host: HostFrameTimes): void {
    const shown = this.#shown.get(host.rtp_timestamp);
    if (shown !== undefined) this.#pair(host, shown);
    else keep(this.#named, host.rtp_timestamp, host, MAX_NAMED);
  }

  /** A frame reaches the screen. */
  frame(shown: ShownFrameTimes): void {
    keep(this.#shown, shown.rtpTimestamp, shown, MAX_SHOWN);
    const host = this.#named.get(shown.rtpTimestamp);
    if (host === undefined) return;
    this.#named.delete(shown.rtpTimestamp);
    this.#pair(host, shown);
  }

  /**
   * Medians of the current window; starts a new window. null: no frame was counted, or the offset of the clocks is not
   * measured.
   */
  take(clock: ClockFacts | null): DelaySplit | null {
    const both = this.#both.splice(0);
    if (clock === null) return null;
    const parts = both.flatMap(({ host, shown }) => partsOf(host, shown, clock) ?? []);
    const middle = (read: (part: Omit<DelaySplit, 'total_ms'>) => number) => median(parts.map(read)) ?? 0;
    if (parts.length === 0) return null;
    const split = {
      capture_ms: middle((part) => part.capture_ms),
      encode_ms: middle((part) => part.encode_ms),
      network_ms: middle((part) => part.network_ms),
      decode_ms: middle((part) => part.decode_ms),
      present_ms: middle((part) => part.present_ms),
    };
    return { ...split, total_ms: Object.values(split).reduce((sum, ms) => sum + ms, 0) };
  }

  reset(): void {
    this.#shown.clear();
    this.#named.clear();
    this.#both = [];
  }

  #pair(host: HostFrameTimes, shown: ShownFrameTimes): void {
    if (this.#both.length < MAX_NAMED) this.#both.push({ host, shown });
  }
}

/** null: the browser does not report when the frame arrived. */
function partsOf(
  host: HostFrameTimes,
  { receivedMs, decodeMs, displayMs }: ShownFrameTimes,
  { offsetMs, originUnixMs, rttMs }: ClockFacts,
): Omit<DelaySplit, 'total_ms'> | null {
  if (receivedMs === null) return null;
  const capturedMs = host.capture_ms - offsetMs - originUnixMs;
  const network_ms = rttMs / 2;
  const decode_ms = decodeMs ?? 0;
  return {
    // The rest of the time before arrival, without encoding and network: capturing the screen, and the wait for sending
    // on the host.
    capture_ms: Math.max(0, receivedMs - capturedMs - host.encode_ms - network_ms),
    encode_ms: host.encode_ms,
    network_ms,
    decode_ms,
    present_ms: Math.max(0, displayMs - receivedMs - decode_ms),
  };
}

function keep<T>(map: Map<number, T>, key: number, value: T, most: number): void {
  map.set(key, value);
  if (map.size <= most) return;
  const oldest = map.keys().next().value;
  if (oldest !== undefined) map.delete(oldest);
}
