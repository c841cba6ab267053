import type { Flag } from '../codec.ts';

/** What hosts and viewers reported of sessions. */
export interface TelemetryTables {
  session_trace_events: SessionTraceEventsTable;
  session_samples: SessionSamplesTable;
  session_clocks: SessionClocksTable;
  session_rejected_times: SessionRejectedTimesTable;
}

/**
 * An event. Those of the reliable lane are identified by host, agent process and number, because they may be repeated.
 * The others have a number of this service's process in place of the agent's.
 */
export interface SessionTraceEventsTable {
  /** Host of the session; '' for a session that has none yet. */
  host_id: string;
  boot_id: string;
  seq: number;
  session_id: string;
  source: 'agent' | 'browser';
  /** The clock of the source. */
  ts_unix_ms: number;
  type: string;
  /** JSON object. */
  payload: string;
  /** 1 for the result of a capture (diag.*), which is kept as long as its session. */
  is_capture: Flag;
  /** This service's clock; start of the retention. */
  received_at: number;
}

/** A set of figures. One for each session, source and millisecond, so a repeated post changes nothing. */
export interface SessionSamplesTable {
  session_id: string;
  source: 'agent' | 'browser' | 'native';
  /** The clock of the source. */
  ts_unix_ms: number;
  /** Host of the session; '' for a session that has none yet. */
  host_id: string;
  /** JSON object: numbers, booleans and short texts by key. */
  metrics: string;
  /** This service's clock; start of the retention. */
  received_at: number;
}

/** The newest comparison of a viewer's clock with that of the host. */
export interface SessionClocksTable {
  session_id: string;
  /** Added to a time of the viewer for that of the host, ms. */
  client_offset_ms: number;
  uncertainty_ms: number;
  measured_at: number;
}

/** Items of a session that were dropped for their time. */
export interface SessionRejectedTimesTable {
  session_id: string;
  /** Guess at what the time is instead of milliseconds since 1970. */
  cause: string;
  count: number;
  /** The last such time, as it was sent. A floating-point number: nanoseconds may be above the integers of a column. */
  last_ts: number;
  last_at: number;
}
