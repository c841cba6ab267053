import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { clock } from '../../clock.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Page size. The server's list covers all times, so on a day with more failures only the newest are shown. */
const MAX = 50;
const REFRESH_MS = 15_000;

/** Sessions that failed in the last day, newest first. */
export function useFailures() {
  return useQuery({
    queryKey: adminKeys.failedSessions,
    queryFn: ({ signal }) => call('admin.sessions.list', { query: { state: 'failed', limit: MAX }, signal }),
    refetchInterval: REFRESH_MS,
    select: ({ items }) =>
      items.filter((session) => Date.parse(session.ended_at ?? session.created_at) > clock.nowMs() - DAY_MS),
  });
}
