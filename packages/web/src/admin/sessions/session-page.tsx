import type { Session } from '@footlight/protocol/rest';
import { isTerminal } from '@footlight/protocol/session-states';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, t } from '../../i18n/translate.ts';
import type { DiagnosisSearch } from '../../search/diagnosis-search.ts';
import { ActivityTable } from '../activity/activity-table.tsx';
import { Annotate } from '../diagnosis/annotate.tsx';
import { BundleButton } from '../diagnosis/captures/bundle-button.tsx';
import { Captures } from '../diagnosis/captures/captures.tsx';
import { newestMs } from '../diagnosis/chart-model.ts';
import { EventList } from '../diagnosis/event-list.tsx';
import { SeriesCharts } from '../diagnosis/series-charts.tsx';
import { useDiagnosis, useNames } from '../diagnosis/use-diagnosis.ts';
import { VerdictSection } from '../diagnosis/verdict-section.tsx';
import { WindowControls } from '../diagnosis/window-controls.tsx';
import { SessionChip } from '../fleet/states.tsx';
import pages from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { PageHead, Section } from '../frame/page-head.tsx';
import { AbsentRecord } from '../frame/record-page.tsx';
import { Whole } from '../frame/whole.tsx';
import { SessionRecordings } from './session-recordings.tsx';
import { SessionStory } from './session-story.tsx';
import { stateDetailLabel } from './state-details.ts';
import { type Stoppable, StopSession } from './stop-session.tsx';

/** Refresh interval of a live session. So each launch step is shown within 3 s. */
const REFRESH_MS = 2_000;
const BACK = { to: '/admin/sessions', label: msg('Sessions') } as const;

const back = () => ({ ...BACK, label: t(BACK.label) });

/**
 * One session. Shows its story first, and the app's last output if the session failed. Then the verdict, samples and
 * events of a time window, captures and recordings.
 */
export function SessionPage(props: {
  id: string;
  search: DiagnosisSearch;
  onSearch: (search: DiagnosisSearch) => void;
}) {
  const { id } = props;
  const query = useQuery({
    queryKey: keys.session(id),
    queryFn: ({ signal }) => call('sessions.read', { params: { id }, signal }),
    refetchInterval: ({ state }) =>
      state.data !== undefined && isTerminal(state.data.session.state) ? false : REFRESH_MS,
  });
  usePageTitle(t('Session'));
  if (query.data === undefined) return <AbsentRecord label={t('Session')} back={back()} query={query} />;
  return <LoadedSession {...props} session={query.data.session} />;
}

function LoadedSession(props: {
  session: Session;
  search: DiagnosisSearch;
  onSearch: (search: DiagnosisSearch) => void;
}) {
  const { session, search, onSearch } = props;
  const names = useNames(session);
  const diagnosis = useDiagnosis(session, search);
  const [cursor, setCursor] = useState<number>();
  const [stopping, setStopping] = useState<Stoppable | null>(null);
  const shown = diagnosis.data?.window;
  // If the person has moved no cursor, the cursor is at the chosen moment, or at the newest samples.
  const newest = diagnosis.data === undefined ? 0 : newestMs(diagnosis.data.series, diagnosis.data.window);
  const wanted = cursor ?? search.at ?? newest;
  const cursorMs = shown === undefined ? wanted : Math.min(shown.to_ms, Math.max(shown.from_ms, wanted));
  const choose = (next: DiagnosisSearch) => {
    setCursor(undefined);
    onSearch(next);
  };
  const app = names.app === null ? t('Deleted app') : names.app;
  return (
    <Whole>
      <PageHead
        title={app ?? <Skeleton width={180} height={31} />}
        lead={<SessionChip session={session} hostStatus={names.hostStatus} />}
        actions={
          <>
            {!isTerminal(session.state) && (
              <Button
                color="danger"
                disabled={session.state === 'stopping'}
                onClick={() =>
                  setStopping({
                    id: session.id,
                    app: app ?? t('this app'),
                    user: names.user ?? t('a deleted account'),
                    host: names.host ?? t('its host'),
                  })
                }
              >
                {t('Stop session')}
              </Button>
            )}
            <BundleButton sessionId={session.id} window={shown} />
          </>
        }
        back={back()}
      />
      <SessionStory session={session} names={names} />
      {session.app_log_tail !== null && (
        <Section title={t('Last output of the app')}>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, which a keyboard must be able to do */}
          <pre className={pages.log} tabIndex={0} role="log" aria-label={t('Last output of the app')}>
            {session.app_log_tail}
          </pre>
        </Section>
      )}
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
          <Section title={t('What limited it')} busy={diagnosis.isPlaceholderData}>
            <VerdictSection verdict={diagnosis.data.verdict} />
          </Section>
          <Section title={t('What was measured')} folds busy={diagnosis.isPlaceholderData}>
            <SeriesCharts
              window={diagnosis.data.window}
              series={diagnosis.data.series}
              events={diagnosis.data.events}
              falsifiers={diagnosis.data.verdict.falsifiers}
              cursorMs={cursorMs}
              onCursor={setCursor}
            />
          </Section>
          <Section title={t('What happened')} folds busy={diagnosis.isPlaceholderData}>
            <Annotate sessionId={session.id} atMs={cursorMs} />
            <EventList events={diagnosis.data.events} onCursor={setCursor} />
          </Section>
        </>
      )}
      <Section title={t('Captures from the host')} folds>
        <Captures
          sessionId={session.id}
          running={session.state === 'running'}
          events={diagnosis.data?.events ?? []}
        />
      </Section>
      <Section title={t('Last minute')} folds>
        <SessionRecordings session={session} />
      </Section>
      <SessionActivity sessionId={session.id} />
      <Section title={t('Details')} folds>
        <SessionFacts session={session} />
      </Section>
      <StopSession session={stopping} onClose={() => setStopping(null)} />
    </Whole>
  );
}

/** Actions of people and the service on a session: launch, stop, captures and recordings. */
function SessionActivity({ sessionId }: { sessionId: string }) {
  const filter = { target_type: 'session', target_id: sessionId };
  const query = useQuery({
    queryKey: adminKeys.activityList(filter),
    queryFn: ({ signal }) => call('activity.list', { query: filter, signal }),
  });
  return (
    <Section title={t('Who did what')} folds busy={query.isPending}>
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      <ActivityTable entries={query.data?.items} />
    </Section>
  );
}

/** Fields of the record that the story does not show. */
function SessionFacts({ session }: { session: Session }) {
  const { stream } = session;
  const facts: [string, string | null | undefined][] = [
    [t('Codec'), session.negotiated_codec ?? stream.codec],
    [t('Profile'), session.profile_id],
    [t('Rung'), session.stream_profile_id],
    [t('App'), session.app_launch_state?.replaceAll('_', ' ')],
    [t('Failure'), session.failure_code],
    [t('End reason'), session.end_reason],
    [t('Step'), session.state_detail === null ? null : stateDetailLabel(session.state_detail)],
  ];
  return (
    <div className={pages.sheet}>
      <dl className={pages.facts}>
        <dt>{t('Stream')}</dt>
        <dd className="tabular">
          {stream.width} × {stream.height}, {stream.fps} fps, {stream.bitrate_kbps} kbit/s
        </dd>
        {facts.map(
          ([name, value]) =>
            value && (
              <div key={name} style={{ display: 'contents' }}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
        <dt>{t('Session')}</dt>
        <dd className={pages.mono}>{session.id}</dd>
      </dl>
    </div>
  );
}
