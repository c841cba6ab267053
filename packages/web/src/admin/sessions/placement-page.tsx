import type { Placement } from '@footlight/protocol/rest';
import { Button, NativeSelect, NumberInput } from '@mantine/core';
import { IconCircleCheck, IconMap2 } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useUser } from '../../api/auth-store.ts';
import { ApiFailure, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, rich, t } from '../../i18n/translate.ts';
import { pickApps } from '../apps/app-lookup.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { Disclosure } from '../frame/disclosure.tsx';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { PickDialog } from '../frame/lists/pick-dialog.tsx';
import { PageHead, Section } from '../frame/page-head.tsx';
import { megabytesLabel } from '../frame/quantity-labels.ts';
import { Whole } from '../frame/whole.tsx';
import { pickUsers, readAccount } from '../people/user-lookup.ts';
import { useLaunchProfiles } from '../profiles/use-profiles.ts';
import { passedOverLabel, refusalLines } from './placement-labels.ts';
import {
  EMPTY_REQUEST,
  type Figure,
  figureProblem,
  type PreviewRequest,
  previewOf,
} from './preview-model.ts';

/** @property turn from 1 */
type Candidate = Placement['candidates'][number] & { turn: number };
const COLUMNS: readonly Column<Candidate>[] = [
  {
    head: msg('Host'),
    kind: 'name',
    cell: (gpu) => (
      <Link to="/admin/hosts/$id" params={{ id: gpu.host_id }} className={styles.nameLink}>
        {gpu.node_name}
      </Link>
    ),
  },
  { head: msg('Turn'), kind: 'number', cell: (gpu) => gpu.turn },
  { head: msg('GPU'), kind: 'number', cell: (gpu) => gpu.gpu_index },
  { head: msg('Free slots'), kind: 'number', cell: (gpu) => gpu.free_slots },
  { head: msg('Free GPU memory'), kind: 'number', cell: (gpu) => megabytesLabel(gpu.vram_mb_free) },
  { head: msg('Sessions'), kind: 'number', cell: (gpu) => gpu.active_sessions },
];
const CODEC_LABELS: Readonly<Record<string, string>> = { h264: 'H.264', h265: 'H.265', av1: 'AV1' };
const CODECS = [
  { value: '', label: msg('The best that both support') },
  ...Object.entries(CODEC_LABELS).map(([value, label]) => ({ value, label })),
];
const CLIENTS = [
  { value: 'browser', label: msg('A browser') },
  { value: 'native', label: msg('A program') },
];
const FIGURES: readonly { figure: Figure; label: string }[] = [
  { figure: 'width', label: msg('Width, pixels') },
  { figure: 'height', label: msg('Height, pixels') },
  { figure: 'fps', label: msg('Frames a second') },
  { figure: 'bitrate_kbps', label: msg('Rate, kbit/s') },
];

/** State of the preview in the page's URL, so that people can share a link. */
export interface PlacementSearch {
  app?: string;
  user?: string;
}

/** Previews where a launch would run, and why other hosts cannot run it, without starting a session. */
export function PlacementPage(props: {
  search: PlacementSearch;
  onSearch: (search: PlacementSearch) => void;
}) {
  usePageTitle(t('Placement'));
  const me = useUser();
  const [request, setRequest] = useState(EMPTY_REQUEST);
  const appId = props.search.app;
  const userId = props.search.user ?? me?.id;
  const question = appId === undefined || userId === undefined ? null : previewOf(appId, userId, request);
  const answer = useQuery({
    queryKey: adminKeys.placementPreview(question),
    queryFn: ({ signal }) =>
      question === null ? null : call('admin.placement.preview', { body: question, signal }),
    enabled: question !== null,
    // Always requested again, because the fleet changes constantly.
    staleTime: 0,
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <PageHead
        title={t('Placement')}
        lead={t('Where a launch would run now, and why not elsewhere. Nothing is started or reserved.')}
        back={{ to: '/admin/sessions', label: t('Sessions') }}
        actions={
          question !== null && (
            <Button loading={answer.isFetching} onClick={() => void answer.refetch()}>
              {t('Ask again')}
            </Button>
          )
        }
      />
      <Whole>
        <div className={styles.sheet}>
          <div className={styles.stack}>
            <Subject
              appId={appId}
              userId={userId}
              onPick={(pick) => props.onSearch({ ...props.search, ...pick })}
            />
            <Disclosure label={t('Options of the stream')}>
              <RequestFields request={request} set={(change) => setRequest({ ...request, ...change })} />
            </Disclosure>
          </div>
        </div>
        {appId === undefined && (
          <EmptyState icon={IconMap2} title={t('Choose an app to see where it would run')}>
            {t(
              'The answer is the same as for a launch: the hosts in the order in which they are tried, and why the others cannot take it.',
            )}
          </EmptyState>
        )}
        {answer.isError && <Problem error={answer.error} retry={() => void answer.refetch()} />}
        {question !== null && answer.isPending && <Skeleton height={160} radius={14} />}
        {question !== null && answer.data && <Answer placement={answer.data} />}
      </Whole>
    </>
  );
}

/** App and account of the preview. */
function Subject(props: {
  appId: string | undefined;
  userId: string | undefined;
  onPick: (pick: PlacementSearch) => void;
}) {
  const { appId, userId } = props;
  const [picking, setPicking] = useState<'app' | 'user' | null>(null);
  const app = useQuery({
    queryKey: keys.app(appId ?? ''),
    queryFn: ({ signal }) => call('apps.read', { params: { id: appId ?? '' }, signal }),
    enabled: appId !== undefined,
  });
  const user = useQuery({
    queryKey: adminKeys.user(userId ?? ''),
    queryFn: ({ signal }) => readAccount(userId ?? '', signal),
    enabled: userId !== undefined,
  });
  const picked = (pick: PlacementSearch) => {
    props.onPick(pick);
    setPicking(null);
  };
  return (
    <div className={styles.filters}>
      <span>
        {rich('{app} for {user}', {
          app: (
            <strong key="app">
              {appId === undefined ? t('No app') : (app.data?.app.name ?? t('An app'))}
            </strong>
          ),
          user: <strong key="user">{user.data?.username ?? t('an account')}</strong>,
        })}
      </span>
      <Button
        size="compact-sm"
        variant={appId === undefined ? 'filled' : 'default'}
        onClick={() => setPicking('app')}
      >
        {t('Choose app')}
      </Button>
      <Button size="compact-sm" onClick={() => setPicking('user')}>
        {t('Choose account')}
      </Button>
      <PickDialog
        opened={picking === 'app'}
        title={t('Which app would be launched')}
        label={t('Name of the app')}
        kind="apps"
        action={t('Choose')}
        find={pickApps}
        taken={new Set(appId === undefined ? [] : [appId])}
        pending={undefined}
        error={null}
        onPick={(id) => picked({ app: id })}
        onClose={() => setPicking(null)}
      />
      <PickDialog
        opened={picking === 'user'}
        title={t('Who would launch it')}
        label={t('Name or email')}
        kind="users"
        action={t('Choose')}
        find={pickUsers}
        taken={new Set(userId === undefined ? [] : [userId])}
        pending={undefined}
        error={null}
        onPick={(id) => picked({ user: id })}
        onClose={() => setPicking(null)}
      />
    </div>
  );
}

function RequestFields({
  request,
  set,
}: {
  request: PreviewRequest;
  set: (change: Partial<PreviewRequest>) => void;
}) {
  const profiles = useLaunchProfiles();
  return (
    <div className={styles.stack}>
      <div className={styles.pair}>
        <NativeSelect
          label={t('Launch profile')}
          data={[
            { value: '', label: t('Chosen for the account') },
            ...(profiles.data?.items ?? []).map(({ id, display_name }) => ({
              value: id,
              label: display_name,
            })),
          ]}
          value={request.profile_id}
          onChange={(event) => set({ profile_id: event.currentTarget.value })}
        />
        <NativeSelect
          label={t('Codec')}
          data={CODECS.map(({ value, label }) => ({ value, label: t(label) }))}
          value={request.codec}
          onChange={(event) => set({ codec: event.currentTarget.value as PreviewRequest['codec'] })}
        />
        <NativeSelect
          label={t('Watched with')}
          data={CLIENTS.map(({ value, label }) => ({ value, label: t(label) }))}
          value={request.client_type}
          onChange={(event) =>
            set({ client_type: event.currentTarget.value as PreviewRequest['client_type'] })
          }
        />
      </div>
      <div className={styles.pair}>
        {FIGURES.map(({ figure, label }) => (
          <NumberInput
            key={figure}
            label={t(label)}
            placeholder={t('By default')}
            allowNegative={false}
            value={request[figure]}
            error={figureProblem(figure, request[figure])}
            onChange={(value) => set({ [figure]: value })}
          />
        ))}
      </div>
    </div>
  );
}

function Answer({ placement }: { placement: Placement }) {
  const [first] = placement.candidates;
  const codec = placement.codec_decision?.result_codec;
  const passedOver = passedOverLabel(placement.codec_decision);
  return (
    <>
      {placement.outcome !== 'placed' && (
        <Problem error={new ApiFailure(placement.status, placement.outcome, '')} />
      )}
      {placement.outcome === 'placed' && first !== undefined && (
        <output className={styles.finding} data-tone="success">
          <IconCircleCheck size={20} aria-hidden="true" />
          <span className={styles.findingText}>
            <strong>
              {codec === undefined
                ? t('It would run on {host}, GPU {gpu}', { host: first.node_name, gpu: first.gpu_index })
                : t('It would run on {host}, GPU {gpu}, as {codec}', {
                    host: first.node_name,
                    gpu: first.gpu_index,
                    codec: CODEC_LABELS[codec] ?? codec,
                  })}
            </strong>
          </span>
        </output>
      )}
      {placement.candidates.length > 0 && (
        <Section title={t('Tried in this order')}>
          <ListTable
            label={t('Candidates')}
            columns={COLUMNS}
            rows={placement.candidates.map((gpu, n) => ({ ...gpu, turn: n + 1 }))}
            rowKey={(gpu) => gpu.gpu_id}
          />
        </Section>
      )}
      {placement.refusals.length > 0 && (
        <Section title={t('Cannot run on')}>
          <ul className={styles.sheet}>
            {refusalLines(placement.refusals).map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </Section>
      )}
      {passedOver.length > 0 && (
        <Section title={t('Skipped rungs')}>
          <ul className={styles.sheet}>
            {passedOver.map(({ rungId, label }) => (
              <li key={rungId}>{label}</li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}
