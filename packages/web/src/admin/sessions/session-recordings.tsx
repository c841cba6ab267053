import type { Recording, Session } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { useMutation, useMutationState, useQuery, useQueryClient } from '@tanstack/react-query';
import { call, send } from '../../api/client.ts';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { msg, t } from '../../i18n/translate.ts';
import { saveFile } from '../diagnosis/save-file.ts';
import pages from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { megabytesLabel } from '../frame/quantity-labels.ts';

const POLL_MS = 1_000;
/** Refresh interval, because a failure, a note or a verdict saves a recording without an action on this page. */
const REFRESH_MS = 15_000;
const COLUMNS: readonly Column<Recording>[] = [
  { head: msg('Kept'), cell: (recording) => <RelativeTime at={recording.created_at} /> },
  { head: msg('State'), live: true, cell: (recording) => <RecordingState recording={recording} /> },
  {
    head: msg('Length'),
    kind: 'number',
    cell: ({ duration_ms }) => (duration_ms === null ? '–' : `${Math.round(duration_ms / 1_000)} s`),
  },
  {
    head: msg('Size'),
    kind: 'number',
    cell: ({ bytes }) => (bytes === null ? '–' : megabytesLabel(Math.max(1, Math.round(bytes / 2 ** 20)))),
  },
  { head: msg('Goes'), cell: (recording) => <RelativeTime at={recording.expires_at} /> },
  { head: msg('Actions'), kind: 'action', cell: (recording) => <Download recording={recording} /> },
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
        {t(
          'This session is not recorded: recording was off in the settings, or its host does not support it.',
        )}
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
            'The host stores a recording for a day. It saves one automatically when the session fails, when an administrator writes a note, or when the picture was bad.',
          )}
        </span>
      </div>
      {keep.isError && <Problem error={keep.error} />}
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {items.length > 0 && (
        <ListTable
          label={t('Recordings')}
          columns={COLUMNS}
          rows={items}
          rowKey={(recording) => recording.recording_id}
        />
      )}
    </div>
  );
}

const downloadKey = ({ recording_id }: Recording) => ['recording-download', recording_id];

function RecordingState({ recording }: { recording: Recording }) {
  const { state, error } = recording;
  const failure = useMutationState({
    filters: { mutationKey: downloadKey(recording) },
    select: (download) => download.state.error,
  }).at(-1);
  return (
    <>
      {state === 'pending' && <StateChip tone="info">{t('Being written')}</StateChip>}
      {state === 'ready' && <StateChip tone="success">{t('Ready')}</StateChip>}
      {state === 'failed' && <StateChip tone="danger">{t('Failed')}</StateChip>}
      {error !== null && <p className={pages.dim}>{error}</p>}
      {failure && <Problem error={failure} />}
    </>
  );
}

function Download({ recording }: { recording: Recording }) {
  const { recording_id, session_id, state, created_at } = recording;
  const download = useMutation({
    mutationKey: downloadKey(recording),
    mutationFn: async () => {
      const params = { id: session_id, recording_id };
      const response = await send('admin.sessions.recordings.download', { params });
      saveFile(await response.blob(), `session-${session_id}-${recording_id}.mp4`);
    },
  });
  return (
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
  );
}
