import type { Session } from '@footlight/protocol/rest';
import { isTerminal } from '@footlight/protocol/session-states';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import type { DiagnosisSearch } from '../../search/diagnosis-search.ts';
import { SessionChip } from '../fleet/states.tsx';
import pages from '../frame/admin-pages.module.css';
import { PageHead, Section } from '../frame/page-head.tsx';
import { AbsentRecord } from '../frame/record-page.tsx';
import { SessionPlacement } from '../sessions/session-placement.tsx';
import { SessionRecordings } from '../sessions/session-recordings.tsx';
import { Annotate } from './annotate.tsx';
import { BundleButton } from './captures/bundle-button.tsx';
import { Captures } from './captures/captures.tsx';
import { newestMs } from './chart-model.ts';
import { EventList } from './event-list.tsx';
import { SeriesCharts } from './series-charts.tsx';
import { useDiagnosis, useNames } from './use-diagnosis.ts';
import { VerdictSection } from './verdict-section.tsx';
import { WindowControls } from './window-controls.tsx';

/** State and end of a session that runs; agents report every 5 s. */
const REFRESH_MS = 5_000;
const BACK = { to: '/admin/sessions', words: 'Sessions' } as const;

/** Why a session was bad at a moment: its verdict, series and events in a window, and what was captured. */
export function DiagnosisPage(props: {
  id: string;
  search: DiagnosisSearch;
  onSearch: (search: DiagnosisSearch) => void;
}) {
  const { id } = props;
  const query = useQuery({
    queryKey: keys.session(id),
    queryFn: ({ signal }) => call('sessions.read', { params: { id }, signal }),
    refetchInterval: ({ state }) =>
      state.data === undefined || isTerminal(state.data.session.state) ? false : REFRESH_MS,
  });
  usePageTitle('Diagnosis');
  if (query.data === undefined) return <AbsentRecord words="Session" back={BACK} query={query} />;
  return <Diagnosed {...props} session={query.data.session} />;
}

function Diagnosed(props: {
  session: Session;
  search: DiagnosisSearch;
  onSearch: (search: DiagnosisSearch) => void;
}) {
  const { session, search, onSearch } = props;
  const names = useNames(session);
  const diagnosis = useDiagnosis(session, search);
  const [cursor, setCursor] = useState<number>();
  const shown = diagnosis.data?.window;
  // Without a chosen instant the cursor is at the moment in question, or at the newest samples.
  const newest = diagnosis.data === undefined ? 0 : newestMs(diagnosis.data.series, diagnosis.data.window);
  const wanted = cursor ?? search.at ?? newest;
  const cursorMs = shown === undefined ? wanted : Math.min(shown.to_ms, Math.max(shown.from_ms, wanted));
  const choose = (next: DiagnosisSearch) => {
    setCursor(undefined);
    onSearch(next);
  };
  return (
    <>
      <PageHead
        title={names.app === null ? 'Deleted app' : (names.app ?? <Skeleton width={180} height={31} />)}
        lead={
          <>
            <SessionChip session={session} /> of {names.user ?? 'a deleted account'}
            {session.host_id !== null && names.host !== null && (
              <>
                {' '}
                on{' '}
                <Link to="/admin/hosts/$id" params={{ id: session.host_id }}>
                  {names.host ?? 'its host'}
                </Link>
              </>
            )}
            , started <RelativeTime at={session.started_at} never="never" />
            {session.ended_at !== null && (
              <>
                , ended <RelativeTime at={session.ended_at} />
              </>
            )}
          </>
        }
        actions={<BundleButton sessionId={session.id} window={shown} />}
        back={BACK}
      />
      <WindowControls search={search} shown={shown} live={session.ended_at === null} onSearch={choose} />
      {diagnosis.isError && <Problem error={diagnosis.error} retry={() => void diagnosis.refetch()} />}
      {diagnosis.data === undefined ? (
        !diagnosis.isError && (
          <>
            <Skeleton height={280} radius={14} />
            <Skeleton height={640} radius={14} />
          </>
        )
      ) : (
        <>
          <Section title="What limited it" busy={diagnosis.isPlaceholderData}>
            <VerdictSection verdict={diagnosis.data.verdict} />
          </Section>
          <Section title="What was measured" busy={diagnosis.isPlaceholderData}>
            <SeriesCharts
              window={diagnosis.data.window}
              series={diagnosis.data.series}
              events={diagnosis.data.events}
              falsifiers={diagnosis.data.verdict.falsifiers}
              cursorMs={cursorMs}
              onCursor={setCursor}
            />
          </Section>
          <Section title="What happened" busy={diagnosis.isPlaceholderData}>
            <Annotate sessionId={session.id} atMs={cursorMs} />
            <EventList events={diagnosis.data.events} onCursor={setCursor} />
          </Section>
        </>
      )}
      <Section title="Captures from the host">
        <Captures
          sessionId={session.id}
          running={session.state === 'running'}
          events={diagnosis.data?.events ?? []}
        />
      </Section>
      <Section title="Last minute">
        <SessionRecordings session={session} />
      </Section>
      <Section title="Where and how it ran">
        <div className={`${pages.sheet} ${pages.stack}`}>
          <dl className={pages.facts}>
            <dt>Stream</dt>
            <dd className="tabular">
              {session.stream.width} × {session.stream.height}, {session.stream.fps} fps,{' '}
              {session.stream.bitrate_kbps} kbit/s, {session.negotiated_codec ?? session.stream.codec}
            </dd>
            {session.profile_id !== null && (
              <>
                <dt>Profile</dt>
                <dd>{session.profile_id}</dd>
              </>
            )}
            <dt>Session</dt>
            <dd className={pages.mono}>{session.id}</dd>
          </dl>
          <SessionPlacement sessionId={session.id} />
        </div>
      </Section>
    </>
  );
}
