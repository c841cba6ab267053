/** One launch, from the request until a viewer saw the app, or until the launch failed. */
export interface LaunchTrace {
  sessionId: string;
  hostId: string | null;
  appId: string;
  /** ended: the session ended before a viewer saw the app. */
  outcome: 'shown' | 'failed' | 'ended';
  /** Failure code; null unless the launch failed. */
  failureCode: string | null;
  /** At least one step; each starts when the former one ends. */
  steps: readonly LaunchStep[];
}

/** Times in epoch milliseconds. */
export interface LaunchStep {
  name: string;
  startMs: number;
  endMs: number;
}

/** Receives launches as traces; the traces feature sends them to a collector. */
export interface LaunchTraces {
  /** Queues a trace. Never throws; when the queue is full, the trace is dropped. */
  send(trace: LaunchTrace): void;
}
