import type { Flag } from '../codec.ts';

/** Events, samples and clocks that hosts and viewers reported about sessions. */
export interface TelemetryTables {
  session_trace_events: SessionTraceEventsTable;
  session_samples: SessionSamplesTable;
  session_clocks: SessionClocksTable;
  session_rejected_times: SessionRejectedTimesTable;
}

/**
 * An event. Events of the reliable lane are identified by host, agent process and number, because they may be repeated.
 * Other events get their number from this service's process instead of the agent.
 */
export interface SessionTraceEventsTable {
  /** Host of the session; '': the session has no host yet. */
  host_id: string;
  boot_id: string;
  seq: number;
  session_id: string;
  source: 'agent' | 'browser';
  /** Time on the clock of the source. */
  ts_unix_ms: number;
  type: string;
  /** JSON object. */
  payload: string;
  /** 1 for the result of a capture (diag.*), which is deleted only with its session. */
  is_capture: Flag;
  /** Time of the arrival on this service's clock. The retention starts at this time. */
  received_at: number;
}

/** A set of figures. There is one row per session, source and millisecond, so a repeated post changes nothing. */
export interface SessionSamplesTable {
  session_id: string;
  source: 'agent' | 'browser' | 'native';
  /** Time on the clock of the source. */
  ts_unix_ms: number;
  /** Host of the session; '': the session has no host yet. */
  host_id: string;
  /** JSON object: numbers, booleans and short texts by key. */
  metrics: string;
  /** Time of the arrival on this service's clock. The retention starts at this time. */
  received_at: number;
}

/** The newest comparison of a viewer's clock with the host's clock. */
export interface SessionClocksTable {
  session_id: string;
  /** A time of the viewer plus this offset is the time of the host, ms. */
  client_offset_ms: number;
  uncertainty_ms: number;
  measured_at: number;
}

/** Counts items of a session that were dropped because of an invalid time. */
export interface SessionRejectedTimesTable {
  session_id: string;
  /** The unit or origin that the invalid time probably has. */
  cause: string;
  count: number;
  /**
   * The last invalid time as it was sent. A floating-point number, because nanoseconds may exceed the range of an
   * integer column.
   */
  last_ts: number;
  last_at: number;
}
