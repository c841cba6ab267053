import type { Gpu, Host } from '@footlight/protocol/rest';
import { useQueries, useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';

/** Refresh interval. A new host is shown within 3 s. */
const REFRESH_MS = 2_500;
/** Largest page size of the server; a larger fleet would need paging. */
const MAX = 1000;

/** All hosts, refreshed while the page is visible. */
export function useHosts() {
  return useQuery({
    queryKey: adminKeys.hosts,
    queryFn: ({ signal }) => call('hosts.list', { query: { limit: MAX }, signal }),
    refetchInterval: REFRESH_MS,
  });
}

/**
 * GPUs by host id. A host is missing until its answer has arrived; its value is undefined if every answer was an error.
 */
export function useGpus(hosts: readonly Host[]): ReadonlyMap<string, Gpu[] | undefined> {
  return useQueries({
    queries: hosts.map((host) => ({
      queryKey: adminKeys.gpus(host.id),
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        call('hosts.gpus', { params: { id: host.id }, signal }),
      refetchInterval: REFRESH_MS,
    })),
    combine: (answers) =>
      new Map(
        answers.flatMap((answer, index): [string, Gpu[] | undefined][] => {
          const host = hosts[index];
          return host === undefined || answer.isPending ? [] : [[host.id, answer.data?.items]];
        }),
      ),
  });
}

/** Largest number of live sessions that are read at once. */
export const MAX_LIVE_SESSIONS = 200;

/** The newest live sessions for administrators, refreshed while the page is visible. */
export function useActiveSessions() {
  return useQuery({
    queryKey: adminKeys.adminOverviewSessions,
    queryFn: ({ signal }) =>
      call('admin.sessions.list', { query: { state: 'active', limit: MAX_LIVE_SESSIONS }, signal }),
    refetchInterval: REFRESH_MS,
  });
}
