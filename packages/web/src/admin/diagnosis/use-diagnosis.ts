import type { Session, SessionVerdict } from '@footlight/protocol/rest';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { clock } from '../../clock.ts';
import type { DiagnosisSearch } from '../../search/diagnosis-search.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { readAccount } from '../people/user-lookup.ts';
import { SERIES_NAMES, type SeriesByName } from './chart-model.ts';
import type { TraceEvent } from './event-labels.ts';
import { windowOf } from './window-choice.ts';

/** Refresh interval: agents report every 5 s. Each refresh sends three requests; a hidden page sends none. */
const REFRESH_MS = 5_000;

/** One window of a session: samples, events, and the verdict. */
export interface Diagnosis {
  verdict: SessionVerdict;
  window: { from_ms: number; to_ms: number };
  series: SeriesByName;
  events: readonly TraceEvent[];
}

/** The chosen window, refreshed while new samples may arrive in it. */
export function useDiagnosis(
  session: Pick<Session, 'id' | 'started_at' | 'ended_at'>,
  search: DiagnosisSearch,
) {
  const { id } = session;
  const ran = { startedAtMs: parsed(session.started_at), endedAtMs: parsed(session.ended_at) };
  return useQuery({
    queryKey: adminKeys.sessionDiagnosis(id, search, ran.endedAtMs),
    queryFn: async ({ signal }): Promise<Diagnosis> => {
      const { from, to } = windowOf(search, ran, clock.nowMs());
      // Uses the window that the service reports, because the service's clock may differ from the browser's clock.
      const verdict = await call('admin.sessions.verdict', { params: { id }, query: { from, to }, signal });
      const { from_ms, to_ms } = verdict.window;
      const query = { from: from_ms, to: to_ms };
      const [{ series }, { events }] = await Promise.all([
        call('admin.sessions.traceMetrics', {
          params: { id },
          query: { ...query, names: SERIES_NAMES.join(',') },
          signal,
        }),
        call('admin.sessions.traceEvents', { params: { id }, query, signal }),
      ]);
      return { verdict, window: { from_ms, to_ms }, series, events };
    },
    placeholderData: keepPreviousData,
    refetchInterval: () => (windowOf(search, ran, clock.nowMs()).grows ? REFRESH_MS : false),
  });
}

const parsed = (at: string | null): number | null => (at === null ? null : Date.parse(at));

/**
 * Names of the session's app, host and person; undefined while loading, null if the record was deleted. The host's
 * status is refreshed while the session is live.
 */
export function useNames(session: Pick<Session, 'app_id' | 'user_id' | 'host_id' | 'ended_at'>) {
  const hostId = session.host_id;
  const app = useQuery({
    queryKey: keys.app(session.app_id),
    queryFn: ({ signal }) => call('apps.read', { params: { id: session.app_id }, signal }),
    retry: false,
  });
  const user = useQuery({
    queryKey: adminKeys.user(session.user_id),
    queryFn: ({ signal }) => readAccount(session.user_id, signal),
    retry: false,
  });
  const host = useQuery({
    queryKey: adminKeys.host(hostId ?? ''),
    queryFn: ({ signal }) => call('hosts.read', { params: { id: hostId ?? '' }, signal }),
    enabled: hostId !== null,
    refetchInterval: session.ended_at === null ? REFRESH_MS : false,
    retry: false,
  });
  return {
    app: app.isError ? null : app.data?.app.name,
    user: user.isError ? null : user.data?.username,
    // A failed refresh keeps the name that was read before.
    host: hostId === null ? null : (host.data?.node_name ?? (host.isError ? null : undefined)),
    hostStatus: host.data?.status,
  };
}
