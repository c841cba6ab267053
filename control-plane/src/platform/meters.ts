import type { SessionStateName } from '@footlight/protocol';

/**
 * What features count and measure as it happens. Every label comes from a list of this program, never from a person or a
 * host, so that the number of series is bounded. The metrics feature keeps the figures.
 */
export interface Meters {
  /**
   * An answer of the HTTP server.
   * @param route the declared path, with its parameters unfilled; null: no route fits the request
   * @param seconds from the request's headers to the end of the answer
   */
  answered(method: string, route: string | null, status: number, seconds: number): void;
  /** A launch was answered. @param outcome `launched`, or the code of the refusal */
  launched(outcome: string): void;
  /** A session reached a state. @param seconds since its launch */
  sessionReached(state: SessionStateName, seconds: number): void;
  /** A request over the bus got its answer, or none. */
  called(subject: string, answer: string, seconds: number): void;
  /** A statement of the database. */
  queried(seconds: number): void;
}

const nothing = (): void => {};

/** Keeps nothing: for a service without SERVICE_METRICS_ADDR. */
export const NO_METERS: Meters = {
  answered: nothing,
  launched: nothing,
  sessionReached: nothing,
  called: nothing,
  queried: nothing,
};
