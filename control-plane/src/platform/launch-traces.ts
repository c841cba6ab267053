/** One launch, from the request until somebody saw the app, or until it failed. */
export interface LaunchTrace {
  sessionId: string;
  hostId: string | null;
  appId: string;
  /** ended: the session ended before anybody saw the app. */
  outcome: 'shown' | 'failed' | 'ended';
  /** Of a failed launch. */
  failureCode: string | null;
  /** One after the other, without gaps; at least one. */
  steps: readonly LaunchStep[];
}

/** Times in epoch milliseconds. */
export interface LaunchStep {
  name: string;
  startMs: number;
  endMs: number;
}

/** Where launches go as traces. The traces feature sends them to a collector. */
export interface LaunchTraces {
  /** Queues a trace. Never throws; what the queue has no room for is dropped. */
  send(trace: LaunchTrace): void;
}
