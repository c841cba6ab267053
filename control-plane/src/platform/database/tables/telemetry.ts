import type { Flag } from '../codec.ts';

/** Events that hosts observed of sessions. */
export interface TelemetryTables {
  session_trace_events: SessionTraceEventsTable;
}

/** An event of the reliable lane, identified by host, agent process and number, because events may be repeated. */
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
  /** 1 for the result of a capture (diag.*), which is kept as long as its session. */
  is_capture: Flag;
  /** This service's clock; start of the retention. */
  received_at: number;
}
