import type { Gpu, Host } from '@footlight/protocol/rest';
import { useQueries, useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';

const REFRESH_MS = 5_000;
/** The largest page that the server gives; a fleet beyond it would need a page of its own. */
const MOST = 1000;

/** All hosts, refreshed while somebody looks. */
export function useHosts() {
  return useQuery({
    queryKey: keys.hosts,
    queryFn: ({ signal }) => call('hosts.list', { query: { limit: MOST }, signal }),
    refetchInterval: REFRESH_MS,
  });
}

/** The GPUs of every host, by host id; a host is missing until its answer is there. */
export function useGpus(hosts: readonly Host[]): ReadonlyMap<string, Gpu[]> {
  return useQueries({
    queries: hosts.map((host) => ({
      queryKey: keys.gpus(host.id),
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        call('hosts.gpus', { params: { id: host.id }, signal }),
      refetchInterval: REFRESH_MS,
    })),
    combine: (answers) =>
      new Map(
        answers.flatMap((answer, index): [string, Gpu[]][] => {
          const host = hosts[index];
          return host === undefined || answer.data === undefined ? [] : [[host.id, answer.data.items]];
        }),
      ),
  });
}

/** Sessions as administrators see them, refreshed while somebody looks. */
export function useActiveSessions() {
  return useQuery({
    queryKey: keys.adminOverviewSessions,
    queryFn: ({ signal }) => call('admin.sessions.list', { query: { state: 'active', limit: 200 }, signal }),
    refetchInterval: REFRESH_MS,
  });
}
