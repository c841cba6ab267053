import type { Gpu, HostGpus } from '@footlight/protocol/rest';
import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';

/** Refresh interval. A new host is shown within 3 s. */
const REFRESH_MS = 2_500;
/** A fleet of more hosts is refreshed less often, because each refresh reads all hosts. */
const MANY_HOSTS = 200;
const MANY_REFRESH_MS = 10_000;
/** Largest page size of the server; a larger fleet would need paging. */
const MAX = 1000;

/** All hosts, refreshed while the page is visible. */
export function useHosts() {
  return useQuery({
    queryKey: adminKeys.hosts,
    queryFn: ({ signal }) => call('hosts.list', { query: { limit: MAX }, signal }),
    refetchInterval: ({ state }) => refreshMs(state.data?.items.length),
  });
}

/** GPUs of all hosts by host id, refreshed while the page is visible. A new host is missing until the next refresh. */
export function useGpus() {
  return useQuery({
    queryKey: adminKeys.allGpus,
    queryFn: ({ signal }) => call('gpus.list', { query: { limit: MAX }, signal }),
    select: gpusByHost,
    refetchInterval: ({ state }) => refreshMs(state.data?.items.length),
  });
}

function refreshMs(hosts = 0): number {
  return hosts > MANY_HOSTS ? MANY_REFRESH_MS : REFRESH_MS;
}

function gpusByHost({ items }: { items: HostGpus[] }): ReadonlyMap<string, Gpu[]> {
  return new Map(items.map(({ host_id, gpus }) => [host_id, gpus]));
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
