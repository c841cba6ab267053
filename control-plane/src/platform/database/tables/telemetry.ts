import type { Flag } from '../codec.ts';

/** What hosts observed of sessions. */
export interface TelemetryTables {
  session_trace_events: SessionTraceEventsTable;
}

/** An event of the reliable lane. Its host, the agent process and its number name it: the same one may come twice. */
export interface SessionTraceEventsTable {
  host_id: string;
  boot_id: string;
  seq: number;
  session_id: string;
  /** The agent's clock. */
  ts_unix_ms: number;
  type: string;
  /** JSON object. */
  payload: string;
  /** 1 for the result of a capture (diag.*), which stays as long as its session. */
  is_capture: Flag;
  /** This service's clock; retention counts from here. */
  received_at: number;
}
