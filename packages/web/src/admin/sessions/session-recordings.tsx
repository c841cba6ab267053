import type { Recording, Session } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call, send } from '../../api/client.ts';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { msg, t } from '../../i18n/translate.ts';
import { saveFile } from '../diagnosis/save-file.ts';
import pages from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { type Column, DataTable } from '../frame/lists/data-table.tsx';
import { megabytesLabel } from '../frame/quantity-labels.ts';

const POLL_MS = 1_000;
/** Refresh interval, because a failure, a note or a verdict saves a recording without an action on this page. */
const REFRESH_MS = 15_000;
const COLUMNS: readonly Column[] = [
  { label: msg('Kept') },
  { label: msg('State') },
  { label: msg('Length'), kind: 'number' },
  { label: msg('Size'), kind: 'number' },
  { label: msg('Goes') },
  { label: msg('Actions'), kind: 'action' },
];

/** Saves the last minute of a recorded session, and downloads saved recordings. */
export function SessionRecordings({ session }: { session: Session }) {
  const { id, state, stream } = session;
  const queryClient = useQueryClient();
  const queryKey = adminKeys.sessionRecordings(id);
  const query = useQuery({
    queryKey,
    queryFn: ({ signal }) => call('admin.sessions.recordings.list', { params: { id }, signal }),
    refetchInterval: ({ state: { data } }) =>
      data?.items.some((each) => each.state === 'pending') ? POLL_MS : REFRESH_MS,
    enabled: stream.recording,
  });
  const keep = useMutation({
    mutationFn: () => call('admin.sessions.recordings.freeze', { params: { id } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey }),
  });
  if (!stream.recording)
    return (
      <p className={pages.dim}>
        {t('This session is not recorded: the flight recorder was off, or its host does not support it.')}
      </p>
    );
  const items = query.data?.items ?? [];
  return (
    <div className={pages.stack}>
      <div className={pages.filters}>
        <Button
          disabled={state !== 'running' && state !== 'stopping' && state !== 'failed'}
          loading={keep.isPending}
          onClick={() => keep.mutate()}
        >
          {t('Save the last minute')}
        </Button>
        <span className={pages.dim}>
          {t(
            'The host stores a recording for a day. A failure, a note or a bad verdict saves one automatically.',
          )}
        </span>
      </div>
      {keep.isError && <Problem error={keep.error} />}
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {items.length > 0 && (
        <DataTable
          label={t('Recordings')}
          columns={COLUMNS.map((column) => ({ ...column, label: t(column.label) }))}
        >
          {items.map((recording) => (
            <Row key={recording.recording_id} recording={recording} />
          ))}
        </DataTable>
      )}
    </div>
  );
}

function Row({ recording }: { recording: Recording }) {
  const { recording_id, session_id, state, created_at, expires_at, bytes, duration_ms, error } = recording;
  const download = useMutation({
    mutationFn: async () => {
      const params = { id: session_id, recording_id };
      const response = await send('admin.sessions.recordings.download', { params });
      saveFile(await response.blob(), `session-${session_id}-${recording_id}.mp4`);
    },
  });
  return (
    <tr>
      <td>
        <RelativeTime at={created_at} />
      </td>
      <td aria-live="polite">
        {state === 'pending' && <StateChip tone="info">{t('Being written')}</StateChip>}
        {state === 'ready' && <StateChip tone="success">{t('Ready')}</StateChip>}
        {state === 'failed' && <StateChip tone="danger">{t('Failed')}</StateChip>}
        {error !== null && <p className={pages.dim}>{error}</p>}
        {download.isError && <Problem error={download.error} />}
      </td>
      <td className={pages.number}>{duration_ms === null ? '–' : `${Math.round(duration_ms / 1_000)} s`}</td>
      <td className={pages.number}>
        {bytes === null ? '–' : megabytesLabel(Math.max(1, Math.round(bytes / 2 ** 20)))}
      </td>
      <td>
        <RelativeTime at={expires_at} />
      </td>
      <td className={pages.rowActions}>
        <Button
          size="compact-sm"
          variant="subtle"
          disabled={state !== 'ready'}
          loading={download.isPending}
          aria-label={t('Download the recording of {time}', { time: created_at })}
          onClick={() => download.mutate()}
        >
          {t('Download')}
        </Button>
      </td>
    </tr>
  );
}
