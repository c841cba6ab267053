/** What hosts recorded of sessions. */
export interface RecordingsTables {
  session_recordings: SessionRecordingsTable;
}

/** A recording, whose file lies on its host. */
export interface SessionRecordingsTable {
  id: string;
  session_id: string;
  /** The session's host when it was asked for. */
  host_id: string;
  state: 'pending' | 'ready' | 'failed';
  /** Both null until it is ready. */
  bytes: number | null;
  duration_ms: number | null;
  /** null unless it failed. */
  error: string | null;
  created_at: number;
  /** After this time it is neither listed nor downloaded. */
  expires_at: number;
}
