import { type ReferenceTime, writeDelaySinceReference } from '../rtp/extended-report.ts';
import { writeSenderReport } from '../rtp/rtcp.ts';

/** Numbers of packets and bytes that were sent of one stream. */
export interface SentStream {
  ssrc: number;
  clockHz: number;
  packets: number;
  payloadBytes: number;
  /** RTP timestamp of the newest frame, and its capture time (monotonic milliseconds). */
  newest: { timestamp: number; capturedAtMs: number };
}

/**
 * The host's RTCP reports to one viewer: they map RTP timestamps to the wall clock, and contain the delay since the
 * viewer's last reference time. Source: RFC 3550, 6.4.1; RFC 3611, 4.5.
 */
export class SenderReports {
  readonly #cname: string;
  /** Newest reference time of the viewer, and the time of its arrival. */
  #viewerTime: { time: ReferenceTime; heardAtMs: number } | null = null;

  constructor(cname: string) {
    this.#cname = cname;
  }

  /** Called when the viewer sent its reference time. */
  heard(time: ReferenceTime, heardAtMs: number): void {
    this.#viewerTime = { time, heardAtMs };
  }

  /** @param now the current time by the monotonic clock and by the wall clock, in milliseconds */
  write(stream: SentStream, now: { monotonicMs: number; wallMs: number }): Buffer {
    const { ssrc, clockHz, packets, payloadBytes, newest } = stream;
    const elapsedMs = now.monotonicMs - newest.capturedAtMs;
    const report = writeSenderReport({
      ssrc,
      cname: this.#cname,
      nowMs: now.wallMs,
      rtpTimestamp: (newest.timestamp + Math.round((elapsedMs * clockHz) / 1000)) >>> 0,
      packets,
      payloadBytes,
    });
    if (!this.#viewerTime) return report;
    const { time, heardAtMs } = this.#viewerTime;
    const delay = writeDelaySinceReference(ssrc, time, now.monotonicMs - heardAtMs);
    return Buffer.concat([report, delay]);
  }
}
