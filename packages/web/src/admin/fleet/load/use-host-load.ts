import { useQuery } from '@tanstack/react-query';
import { call } from '../../../api/client.ts';
import { adminKeys } from '../../frame/admin-query-keys.ts';

/** Refresh interval. Agents send a sample every 5 s, and each sample is shown within 3 s of its arrival. */
const REFRESH_MS = 2_500;

/** The last five minutes of a host, refreshed while the page is visible. */
export function useHostLoad(hostId: string) {
  return useQuery({
    queryKey: adminKeys.hostLoad(hostId),
    queryFn: ({ signal }) => call('hosts.load', { params: { id: hostId }, signal }),
    refetchInterval: REFRESH_MS,
  });
}
