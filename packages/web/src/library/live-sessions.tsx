import type { AppListItem, Session } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { AppPicture } from '../components/app-picture.tsx';
import { ConfirmDialog } from '../components/confirm-dialog.tsx';
import { RelativeTime } from '../components/relative-time.tsx';
import { StateChip } from '../components/state-chip.tsx';
import styles from './library.module.css';
import { isStreamed } from './use-library.ts';

/** The person's live sessions, first in the library. */
export function LiveSessions({
  sessions,
  apps,
}: {
  sessions: readonly Session[];
  apps: readonly AppListItem[];
}) {
  return (
    <section className={`${styles.section} ${styles.running}`} aria-label="Running now">
      <h2>Running now</h2>
      <div className={styles.live}>
        {sessions.map((session, index) => (
          <LiveCard
            key={session.id}
            session={session}
            app={apps.find((app) => app.id === session.app_id)}
            first={index === 0}
          />
        ))}
      </div>
    </section>
  );
}

function LiveCard(props: { session: Session; app: AppListItem | undefined; first: boolean }) {
  const { session } = props;
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [confirming, setConfirming] = useState(false);
  // An app beyond the loaded pages, or one whose entitlement was revoked.
  const lookup = useQuery({
    queryKey: keys.app(session.app_id),
    queryFn: ({ signal }) => call('apps.read', { params: { id: session.app_id }, signal }),
    enabled: props.app === undefined,
    retry: false,
  });
  const app = props.app ?? lookup.data?.app ?? { id: session.app_id, name: 'An app' };
  const end = useMutation({
    mutationFn: () => call('sessions.delete', { params: { id: session.id } }),
    onSuccess: () => {
      setConfirming(false);
      return queryClient.invalidateQueries({ queryKey: keys.sessions });
    },
  });
  const stopping = session.state === 'stopping';
  const watchable = isStreamed(session);
  return (
    <article className={styles.liveCard} aria-label={app.name}>
      <AppPicture app={app} shape="hero" className={styles.livePicture} />
      <div className={styles.liveText}>
        <h3>{app.name}</h3>
        <p className={styles.liveState}>
          <StateChip tone={stopping ? 'neutral' : session.state === 'running' ? 'success' : 'info'}>
            {stopping ? 'Ending' : session.state === 'running' ? 'Running' : 'Starting'}
          </StateChip>
          <RelativeTime at={session.created_at} />
          {!watchable && <span>on the display beside its host</span>}
        </p>
        {session.idle_ends_at && (
          <p className={styles.liveIdle}>
            Ends <RelativeTime at={session.idle_ends_at} /> unless you return
          </p>
        )}
        <div className={styles.liveActions}>
          {watchable && (
            <Button
              size="xs"
              data-tile=""
              variant={props.first ? 'filled' : 'default'}
              disabled={stopping}
              aria-label={`Resume ${app.name}`}
              onClick={() => void navigate({ to: '/app/session/$id', params: { id: session.id } })}
            >
              Resume
            </Button>
          )}
          <Button
            size="xs"
            data-tile={watchable ? undefined : ''}
            variant="subtle"
            disabled={stopping}
            aria-label={`End ${app.name}`}
            onClick={() => setConfirming(true)}
          >
            End
          </Button>
        </div>
      </div>
      <ConfirmDialog
        opened={confirming}
        title={`End ${app.name}?`}
        act={`End ${app.name}`}
        pending={end.isPending}
        error={end.error}
        onConfirm={() => end.mutate()}
        onClose={() => setConfirming(false)}
      >
        <p>The app is closed. What it has not saved is lost.</p>
      </ConfirmDialog>
    </article>
  );
}
