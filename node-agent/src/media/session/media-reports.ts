import type { MediaFailureCode } from '@footlight/protocol';
import type { AgentEventType, LogEvent } from '@footlight/protocol/telemetry';
import type { PrepareMessage, WorkerMessage } from '../worker/worker-messages.ts';
import type { MediaClock } from './media-clock.ts';

/** A failure with the code for the session's end report. */
export class MediaFailure extends Error {
  readonly code: MediaFailureCode;

  constructor(code: MediaFailureCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Sends events, log lines and the failure of one session from its media worker to the agent. */
export class MediaReports {
  readonly #send: (message: WorkerMessage) => void;
  readonly #clock: MediaClock;
  #failed = false;
  #closed = false;

  constructor(send: (message: WorkerMessage) => void, clock: MediaClock) {
    this.#send = send;
    this.#clock = clock;
  }

  get hasFailed(): boolean {
    return this.#failed;
  }

  event(event: AgentEventType, payload: Record<string, unknown>): void {
    this.#send({ type: 'event', event, ts: Math.round(this.#clock.nowMs()), payload });
  }

  log(level: 'warn' | 'error', event: LogEvent, fields: Record<string, unknown>): void {
    this.#send({ type: 'log', level, event, fields });
  }

  /** Reports the first failure. No effect after the first failure, or after close(). */
  fail(code: MediaFailureCode, message: string): void {
    if (this.#failed || this.#closed) return;
    this.#failed = true;
    this.#send({ type: 'failure', failure_code: code, error: message });
  }

  /** Called when the session stops: later errors are not reported as failures. */
  close(): void {
    this.#closed = true;
  }
}

/** Payload of `session.effective_media`. Pure. @param setpointKbps the encoder's target */
export function effectiveMedia(
  { stream, encoder }: Pick<PrepareMessage, 'stream' | 'encoder'>,
  {
    setpointKbps,
    hasSound,
    hasMicrophone,
  }: { setpointKbps: number; hasSound: boolean; hasMicrophone: boolean },
): Record<string, unknown> {
  const { width, height, fps, codec } = stream;
  const media = {
    codec,
    profile: codec === 'h264' ? stream.h264_profile : null,
    encoder: encoder.family,
    width,
    height,
    fps,
    bitrate_kbps: stream.bitrate_kbps,
  };
  return {
    configured: media,
    resolved: media,
    actual: { ...media, bitrate_kbps: setpointKbps },
    audio: hasSound ? { codec: 'opus', channels: 2, bitrate_kbps: 128 } : null,
    mic: hasMicrophone ? 'negotiated' : 'off',
  };
}
