import type { SessionStateName } from '@footlight/protocol';

/**
 * Features report events and durations here when they occur. Every label comes from a list in this program, never from
 * a person or a host, so that the number of series is bounded. The metrics feature stores the values.
 */
export interface Meters {
  /**
   * An answer of the HTTP server.
   * @param route the declared path with its parameter names; null: no route matches the request
   * @param seconds from the request's headers to the end of the answer
   */
  answered(method: string, route: string | null, status: number, seconds: number): void;
  /** A launch was answered. @param outcome `launched`, or the code of the refusal */
  launched(outcome: string): void;
  /** A step of a launch ended. @param step the name of its span in a trace */
  launchStepEnded(step: string, seconds: number): void;
  /** A session reached a state. @param seconds since its launch */
  sessionReached(state: SessionStateName, seconds: number): void;
  /**
   * A request over the bus ended, with or without an answer.
   * @param responder local: of this process, so nothing was sent to NATS
   */
  called(subject: string, responder: 'local' | 'remote', answer: string, seconds: number): void;
  /** A database statement ended. */
  queried(seconds: number): void;
}

const nothing = (): void => {};

/** Ignores all values; used without SERVICE_METRICS_ADDR. */
export const NO_METERS: Meters = {
  answered: nothing,
  launched: nothing,
  launchStepEnded: nothing,
  sessionReached: nothing,
  called: nothing,
  queried: nothing,
};
