/** Recordings of sessions. */
export interface RecordingsTables {
  session_recordings: SessionRecordingsTable;
}

/** A recording. Its file is on the host. */
export interface SessionRecordingsTable {
  id: string;
  session_id: string;
  /** The session's host when the recording was requested. */
  host_id: string;
  state: 'pending' | 'ready' | 'failed';
  /** This field and the next are null until the recording is ready. */
  bytes: number | null;
  duration_ms: number | null;
  /** null: the recording has not failed. */
  error: string | null;
  created_at: number;
  /** After this time the recording cannot be listed or downloaded. */
  expires_at: number;
}
