import type { AdminSession } from '@footlight/protocol/rest';
import { isTerminal } from '@footlight/protocol/session-states';
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Fragment, useState } from 'react';
import { call } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SessionChip } from '../fleet/states.tsx';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { type Column, DataTable, EndButton, SkeletonRows } from '../frame/lists/data-table.tsx';
import { SessionDetail } from './session-detail.tsx';

const COLUMNS: readonly Column[] = [
  { words: 'App' },
  { words: 'State' },
  { words: 'User' },
  { words: 'Host' },
  { words: 'Created' },
  { words: 'Picture', kind: 'number' },
  { words: 'Act', kind: 'action' },
];

/**
 * A table of sessions; a click on the name expands the record.
 * @param sessions undefined while loading
 */
export function SessionTable(props: {
  sessions: readonly AdminSession[] | undefined;
  open?: string | undefined;
  onOpen?: (id: string | undefined) => void;
}) {
  const [ownOpen, setOwnOpen] = useState<string>();
  const [stopping, setStopping] = useState<AdminSession | null>(null);
  const open = props.onOpen === undefined ? ownOpen : props.open;
  const setOpen = props.onOpen ?? setOwnOpen;
  const queryClient = useQueryClient();
  const stop = useMutation({
    mutationFn: (session: AdminSession) => call('sessions.delete', { params: { id: session.id } }),
    onSuccess: (_answer, session) => {
      setStopping(null);
      notifications.show({ message: `${nameOf(session)} is being stopped`, autoClose: 4000 });
      return queryClient.invalidateQueries({ queryKey: adminKeys.adminSessions });
    },
  });
  return (
    <>
      <DataTable label="Sessions" columns={COLUMNS}>
        {props.sessions === undefined && <SkeletonRows rows={3} columns={COLUMNS.length} />}
        {props.sessions?.map((session) => (
          <Fragment key={session.id}>
            <tr>
              <td className={styles.nameCell}>
                <button
                  type="button"
                  className={styles.nameLink}
                  aria-expanded={open === session.id}
                  onClick={() => setOpen(open === session.id ? undefined : session.id)}
                >
                  {nameOf(session)}
                </button>
              </td>
              <td>
                <SessionChip session={session} />
              </td>
              <td className={styles.shortCell} title={session.username}>
                {session.username ?? <span className={styles.dim}>deleted account</span>}
              </td>
              <td>
                {session.host_id !== null && session.host_name !== undefined ? (
                  <Link to="/admin/hosts/$id" params={{ id: session.host_id }} className={styles.nameLink}>
                    {session.host_name}
                  </Link>
                ) : (
                  <span className={styles.dim}>none</span>
                )}
              </td>
              <td>
                <RelativeTime at={session.created_at} />
              </td>
              <td className={styles.number}>
                {session.stream.width} × {session.stream.height}
              </td>
              <td className={styles.act}>
                <Button
                  size="compact-sm"
                  variant="subtle"
                  aria-label={`Diagnose ${nameOf(session)} of ${session.username ?? 'a deleted account'}`}
                  renderRoot={(root) => (
                    <Link to="/admin/sessions/$id" params={{ id: session.id }} {...root} />
                  )}
                >
                  Diagnose
                </Button>
                {!isTerminal(session.state) && (
                  <EndButton
                    label={`Stop ${nameOf(session)} of ${session.username ?? 'a deleted account'}`}
                    disabled={session.state === 'stopping'}
                    onClick={() => setStopping(session)}
                  >
                    Stop
                  </EndButton>
                )}
              </td>
            </tr>
            {open === session.id && (
              <tr>
                <td colSpan={COLUMNS.length} className={styles.wrapCell}>
                  <SessionDetail session={session} />
                </td>
              </tr>
            )}
          </Fragment>
        ))}
      </DataTable>
      <ConfirmDialog
        opened={stopping !== null}
        title={`Stop ${stopping === null ? '' : nameOf(stopping)} of ${stopping?.username ?? 'a deleted account'}?`}
        act="Stop 1 session"
        pending={stop.isPending}
        error={stop.error}
        onConfirm={() => stopping !== null && stop.mutate(stopping)}
        onClose={() => setStopping(null)}
      >
        <p>The app is closed on {stopping?.host_name ?? 'its host'}. What it has not saved is lost.</p>
      </ConfirmDialog>
    </>
  );
}

function nameOf(session: AdminSession): string {
  return session.app_name ?? 'Deleted app';
}
