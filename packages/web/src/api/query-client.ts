import { QueryClient } from '@tanstack/react-query';
import { ApiFailure } from './client.ts';
import { retryDelayMs } from './retry-delay.ts';

/** Attempts after the first one, for 4 s in all; then a person reads what is wrong. Chosen, not measured. */
const MAX_RETRIES = 3;

/** Retries only without an answer or after a server error; a refusal would be repeated. */
export function shouldRetry(failures: number, error: unknown): boolean {
  if (failures >= MAX_RETRIES || !(error instanceof ApiFailure)) return false;
  return error.status === 0 || (error.status >= 500 && error.code === 'internal');
}

/** The page's cache. Mutations are never retried: a launch without an answer may have happened. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        retry: shouldRetry,
        retryDelay: retryDelayMs,
        staleTime: 5_000,
      },
      mutations: { retry: false },
    },
  });
}
