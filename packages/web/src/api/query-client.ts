import { QueryClient } from '@tanstack/react-query';
import { ApiFailure } from './client.ts';
import { retryDelayMs } from './retry-delay.ts';

/** Number of retries. They take 4 s in total; then the page shows the failure. Chosen, not measured. */
const MAX_RETRIES = 3;

/** Pause between two attempts while a page shows a failure and waits for the server. Chosen, not measured. */
const RECOVER_EVERY_MS = 3_000;

/** Whether a failure may be temporary: no answer, or an error of the server. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof ApiFailure)) return false;
  return (
    error.status === 0 || (error.status >= 500 && (error.code === 'internal' || error.code === 'unreadable'))
  );
}

/** Retries only without an answer or after a server error, because the server would repeat a refusal. */
export function shouldRetry(failures: number, error: unknown): boolean {
  return failures < MAX_RETRIES && isPassing(error);
}

/** The page's cache. Mutations are never retried, because a launch without an answer may have started a session. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        retry: shouldRetry,
        retryDelay: retryDelayMs,
        staleTime: 5_000,
        // A page that shows a failure continues to request, so that it recovers when the server answers again.
        refetchInterval: (query) => (isPassing(query.state.error) ? RECOVER_EVERY_MS : false),
      },
      mutations: { retry: false },
    },
  });
}
