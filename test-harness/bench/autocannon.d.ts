declare module 'autocannon' {
  /** One request of a connection's list, which starts again at its end. */
  interface LoadRequest {
    method: string;
    path: string;
    headers: Record<string, string>;
    body?: string;
    onResponse?: (status: number, body: string) => void;
  }
  interface LoadOptions {
    url: string;
    connections: number;
    duration?: number;
    /** Requests in all; left out: as many as fit into `duration`. Seconds. */
    amount?: number;
    timeout: number;
    /** How often it looks whether it is done, milliseconds. */
    sampleInt: number;
    setupClient(client: { setRequests(requests: LoadRequest[]): void }): void;
  }
  interface LoadResult {
    errors: number;
    non2xx: number;
  }
  interface LoadRun extends Promise<LoadResult> {
    on(
      event: 'response',
      listener: (client: unknown, status: number, bytes: number, durationMs: number) => void,
    ): this;
  }
  export default function autocannon(options: LoadOptions): LoadRun;
}
