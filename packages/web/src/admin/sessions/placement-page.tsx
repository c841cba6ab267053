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
import { pickApps } from '../apps/app-lookup.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { Disclosure } from '../frame/disclosure.tsx';
import { type Column, DataTable } from '../frame/lists/data-table.tsx';
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

const COLUMNS: readonly Column[] = [
  { label: 'Host' },
  { label: 'Turn', kind: 'number' },
  { label: 'GPU', kind: 'number' },
  { label: 'Free slots', kind: 'number' },
  { label: 'Free GPU memory', kind: 'number' },
  { label: 'Sessions', kind: 'number' },
];
const CODEC_LABELS: Readonly<Record<string, string>> = { h264: 'H.264', h265: 'H.265', av1: 'AV1' };
const CODECS = [
  { value: '', label: 'The best that both support' },
  ...Object.entries(CODEC_LABELS).map(([value, label]) => ({ value, label })),
];
const CLIENTS = [
  { value: 'browser', label: 'A browser' },
  { value: 'native', label: 'A program' },
];
const FIGURES: readonly { figure: Figure; label: string }[] = [
  { figure: 'width', label: 'Width, pixels' },
  { figure: 'height', label: 'Height, pixels' },
  { figure: 'fps', label: 'Frames a second' },
  { figure: 'bitrate_kbps', label: 'Rate, kbit/s' },
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
  usePageTitle('Placement');
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
        title="Placement"
        lead="Where a launch would run now, and why not elsewhere. Nothing is started or reserved."
        back={{ to: '/admin/sessions', label: 'Sessions' }}
        actions={
          question !== null && (
            <Button loading={answer.isFetching} onClick={() => void answer.refetch()}>
              Ask again
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
            <Disclosure label="Options of the stream">
              <RequestFields request={request} set={(change) => setRequest({ ...request, ...change })} />
            </Disclosure>
          </div>
        </div>
        {appId === undefined && (
          <EmptyState icon={IconMap2} title="Choose an app to see where it would run">
            The answer is the same as for a launch: the hosts in the order in which they are tried, and why
            the others cannot take it.
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
        <strong>{appId === undefined ? 'No app' : (app.data?.app.name ?? 'An app')}</strong> for{' '}
        <strong>{user.data?.username ?? 'an account'}</strong>
      </span>
      <Button
        size="compact-sm"
        variant={appId === undefined ? 'filled' : 'default'}
        onClick={() => setPicking('app')}
      >
        Choose app
      </Button>
      <Button size="compact-sm" onClick={() => setPicking('user')}>
        Choose account
      </Button>
      <PickDialog
        opened={picking === 'app'}
        title="Which app would be launched"
        label="Name of the app"
        kind="apps"
        action="Choose"
        find={pickApps}
        taken={new Set(appId === undefined ? [] : [appId])}
        pending={undefined}
        error={null}
        onPick={(id) => picked({ app: id })}
        onClose={() => setPicking(null)}
      />
      <PickDialog
        opened={picking === 'user'}
        title="Who would launch it"
        label="Name or email"
        kind="users"
        action="Choose"
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
          label="Launch profile"
          data={[
            { value: '', label: 'Chosen for the account' },
            ...(profiles.data?.items ?? []).map(({ id, display_name }) => ({
              value: id,
              label: display_name,
            })),
          ]}
          value={request.profile_id}
          onChange={(event) => set({ profile_id: event.currentTarget.value })}
        />
        <NativeSelect
          label="Codec"
          data={CODECS}
          value={request.codec}
          onChange={(event) => set({ codec: event.currentTarget.value as PreviewRequest['codec'] })}
        />
        <NativeSelect
          label="Watched with"
          data={CLIENTS}
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
            label={label}
            placeholder="By default"
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
              It would run on {first.node_name}, GPU {first.gpu_index}
              {codec !== undefined && `, as ${CODEC_LABELS[codec] ?? codec}`}
            </strong>
          </span>
        </output>
      )}
      {placement.candidates.length > 0 && (
        <Section title="Tried in this order">
          <DataTable label="Candidates" columns={COLUMNS}>
            {placement.candidates.map((gpu, turn) => (
              <tr key={gpu.gpu_id}>
                <td className={styles.nameCell}>
                  <Link to="/admin/hosts/$id" params={{ id: gpu.host_id }} className={styles.nameLink}>
                    {gpu.node_name}
                  </Link>
                </td>
                <td className={styles.number}>{turn + 1}</td>
                <td className={styles.number}>{gpu.gpu_index}</td>
                <td className={styles.number}>{gpu.free_slots}</td>
                <td className={styles.number}>{megabytesLabel(gpu.vram_mb_free)}</td>
                <td className={styles.number}>{gpu.active_sessions}</td>
              </tr>
            ))}
          </DataTable>
        </Section>
      )}
      {placement.refusals.length > 0 && (
        <Section title="Cannot run on">
          <ul className={styles.sheet}>
            {refusalLines(placement.refusals).map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </Section>
      )}
      {passedOver.length > 0 && (
        <Section title="Skipped rungs">
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
