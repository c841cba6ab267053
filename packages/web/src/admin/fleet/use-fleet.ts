import type { Gpu, HostGpus } from '@footlight/protocol/rest';
import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';

/** Refresh interval. A new host is shown within 3 s. */
export const REFRESH_MS = 2_500;
/** Hosts of a page of the list, of the fleet's picture, and of the findings. */
export const PAGE = 100;
/** Largest page size of the server; the names of more hosts are not known. */
const MAX = 1000;
/** The fleet's picture shows the first hosts by name. */
const PICTURED = { sort: 'name', limit: PAGE } as const;
const TROUBLED = { sort: 'name', attention: true, limit: PAGE } as const;

/** All hosts, for their names and versions. */
export function useHosts() {
  return useQuery({
    queryKey: adminKeys.hosts,
    queryFn: ({ signal }) => call('hosts.list', { query: { limit: MAX }, signal }),
  });
}

/** Number of hosts and slots of the whole fleet. */
export function useFleetSummary() {
  return useQuery({
    queryKey: adminKeys.fleetSummary,
    queryFn: ({ signal }) => call('fleet.summary', { signal }),
    refetchInterval: REFRESH_MS,
  });
}

/** The first hosts by name. */
export function usePicturedHosts() {
  return useQuery({
    queryKey: adminKeys.hostList(PICTURED),
    queryFn: ({ signal }) => call('hosts.list', { query: PICTURED, signal }),
    refetchInterval: REFRESH_MS,
  });
}

/** The first hosts by name that are offline, have an unknown capacity, or failed a readiness check. */
export function useTroubledHosts() {
  return useQuery({
    queryKey: adminKeys.hostList(TROUBLED),
    queryFn: ({ signal }) => call('hosts.list', { query: TROUBLED, signal }),
    refetchInterval: REFRESH_MS,
  });
}

/** GPUs of the first hosts by name, by host id. A new host is missing until the next refresh. */
export function usePicturedGpus() {
  return useQuery({
    queryKey: adminKeys.gpuList(PICTURED),
    queryFn: ({ signal }) => call('gpus.list', { query: PICTURED, signal }),
    select: gpusByHost,
    refetchInterval: REFRESH_MS,
  });
}

function gpusByHost({ items }: { items: HostGpus[] }): ReadonlyMap<string, Gpu[]> {
  return new Map(items.map(({ host_id, gpus }) => [host_id, gpus]));
}

/** Largest number of live sessions that a page shows. */
const MAX_LIVE_SESSIONS = 200;

/**
 * The newest live sessions and the number of all, refreshed while the page is visible.
 * @param of.host_id missing: of all hosts
 */
export function useLiveSessions(of: { host_id?: string; limit?: number } = {}) {
  const query = { state: 'active', limit: MAX_LIVE_SESSIONS, count: true, ...of };
  return useQuery({
    queryKey: adminKeys.liveSessions(of),
    queryFn: ({ signal }) => call('admin.sessions.list', { query, signal }),
    refetchInterval: REFRESH_MS,
  });
}
