import type { AdminSession } from '@footlight/protocol/rest';
import { isTerminal } from '@footlight/protocol/session-states';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { RelativeTime } from '../../components/relative-time.tsx';
import { msg, t } from '../../i18n/translate.ts';
import { SessionChip } from '../fleet/states.tsx';
import styles from '../frame/admin-pages.module.css';
import {
  type Column,
  DataTable,
  EndButton,
  SkeletonRows,
  type TableOrder,
} from '../frame/lists/data-table.tsx';
import { type Stoppable, StopSession } from './stop-session.tsx';
import { storyOf } from './story.ts';

const COLUMNS: readonly Column[] = [
  { label: msg('App'), sort: 'app' },
  { label: msg('State'), sort: 'state' },
  { label: msg('User'), sort: 'user' },
  { label: msg('Host'), sort: 'host' },
  { label: msg('Created'), sort: 'created' },
  { label: msg('Picture'), kind: 'number', sort: 'picture' },
  { label: msg('Actions'), kind: 'action' },
];

/** Columns for failed sessions: a column for the reason replaces state and picture, and there is no Stop button. */
const FAILED_COLUMNS: readonly Column[] = [
  ...COLUMNS.filter(({ label }) => !['State', 'Picture', 'Actions'].includes(label)),
  { label: msg('Why') },
];

export const SESSION_SORT_KEYS = {
  app: (session: AdminSession) => session.app_name ?? null,
  state: (session: AdminSession) => session.state,
  user: (session: AdminSession) => session.username ?? null,
  host: (session: AdminSession) => session.host_name ?? null,
  created: (session: AdminSession) => session.created_at,
  picture: (session: AdminSession) => session.stream.width * session.stream.height,
};

/**
 * A table of sessions. The name of a session links to its page.
 * @param props.failed all sessions failed, so a column shows the reason
 * @param props.sessions undefined while loading
 * @param props.order missing: the rows keep their order
 */
export function SessionTable(props: {
  failed?: boolean;
  sessions: readonly AdminSession[] | undefined;
  order?: TableOrder;
}) {
  const [stopping, setStopping] = useState<Stoppable | null>(null);
  const failed = props.failed === true;
  const columns = (failed ? FAILED_COLUMNS : COLUMNS).map((column) => ({
    ...column,
    label: t(column.label),
  }));
  return (
    <>
      <DataTable
        label={failed ? t('Failures') : t('Sessions')}
        columns={columns}
        {...(props.order && { order: props.order })}
      >
        {props.sessions === undefined && <SkeletonRows rows={3} columns={columns.length} />}
        {props.sessions?.map((session) => (
          <tr key={session.id}>
            <td className={styles.nameCell}>
              <Link to="/admin/sessions/$id" params={{ id: session.id }} className={styles.nameLink}>
                {nameOf(session)}
              </Link>
            </td>
            {!failed && (
              <td>
                <SessionChip session={session} />
              </td>
            )}
            <td className={styles.shortCell} title={session.username}>
              {session.username ?? <span className={styles.dim}>{t('deleted account')}</span>}
            </td>
            <td>
              {session.host_id !== null && session.host_name !== undefined ? (
                <Link to="/admin/hosts/$id" params={{ id: session.host_id }} className={styles.nameLink}>
                  {session.host_name}
                </Link>
              ) : (
                <span className={styles.dim}>{t('none')}</span>
              )}
            </td>
            <td>
              <RelativeTime at={session.created_at} />
            </td>
            {failed && (
              <td className={styles.wrapCell}>{storyOf(session, Date.parse(session.created_at)).sentence}</td>
            )}
            {!failed && (
              <td className={styles.number}>
                {session.stream.width} × {session.stream.height}
              </td>
            )}
            {!failed && (
              <td className={styles.rowActions}>
                {!isTerminal(session.state) && (
                  <EndButton
                    label={t('Stop {app} of {user}', {
                      app: nameOf(session),
                      user: session.username ?? t('a deleted account'),
                    })}
                    disabled={session.state === 'stopping'}
                    onClick={() =>
                      setStopping({
                        id: session.id,
                        app: nameOf(session),
                        user: session.username ?? t('a deleted account'),
                        host: session.host_name ?? t('its host'),
                      })
                    }
                  >
                    {t('Stop')}
                  </EndButton>
                )}
              </td>
            )}
          </tr>
        ))}
      </DataTable>
      <StopSession session={stopping} onClose={() => setStopping(null)} />
    </>
  );
}

const nameOf = (session: AdminSession): string => session.app_name ?? t('Deleted app');
