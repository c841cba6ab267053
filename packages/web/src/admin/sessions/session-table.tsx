import type { AdminSession } from '@footlight/protocol/rest';
import { isTerminal } from '@footlight/protocol/session-states';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { RelativeTime } from '../../components/relative-time.tsx';
import { msg, t } from '../../i18n/translate.ts';
import { SessionChip } from '../fleet/states.tsx';
import styles from '../frame/admin-pages.module.css';
import { type Column, EndButton, ListTable, type TableOrder } from '../frame/lists/list-table.tsx';
import { type Stoppable, StopSession } from './stop-session.tsx';
import { storyOf } from './story.ts';

const SESSION_COLUMNS: readonly Column<AdminSession>[] = [
  {
    head: msg('App'),
    kind: 'name',
    sort: 'app',
    cell: (session) => (
      <Link to="/admin/sessions/$id" params={{ id: session.id }} className={styles.nameLink}>
        {nameOf(session)}
      </Link>
    ),
  },
  {
    head: msg('State'),
    sort: 'state',
    cell: (session) => <SessionChip session={session} hostStatus={session.host_status} />,
  },
  {
    head: msg('User'),
    kind: 'short',
    sort: 'user',
    title: (session) => session.username,
    cell: (session) => session.username ?? <span className={styles.dim}>{t('deleted account')}</span>,
  },
  {
    head: msg('Host'),
    sort: 'host',
    cell: (session) =>
      session.host_id !== null && session.host_name !== undefined ? (
        <Link to="/admin/hosts/$id" params={{ id: session.host_id }} className={styles.nameLink}>
          {session.host_name}
        </Link>
      ) : (
        <span className={styles.dim}>{t('none')}</span>
      ),
  },
  {
    head: msg('Created'),
    sort: 'created',
    cell: (session) => <RelativeTime at={session.created_at} />,
  },
  {
    head: msg('Picture'),
    kind: 'number',
    sort: 'picture',
    cell: ({ stream }) => `${stream.width} × ${stream.height}`,
  },
];

const stopColumn = (onStop: (session: Stoppable) => void): Column<AdminSession> => ({
  head: msg('Actions'),
  kind: 'action',
  cell: (session) => {
    if (isTerminal(session.state)) return null;
    const app = nameOf(session);
    const user = session.username ?? t('a deleted account');
    return (
      <EndButton
        label={t('Stop {app} of {user}', { app, user })}
        disabled={session.state === 'stopping'}
        onClick={() => onStop({ id: session.id, app, user, host: session.host_name ?? t('its host') })}
      >
        {t('Stop')}
      </EndButton>
    );
  },
});

/** Whether the server sorts sessions by this column. */
export const isSessionOrder = (key: string): boolean => SESSION_COLUMNS.some(({ sort }) => sort === key);

/** Columns for failed sessions: a column for the reason replaces state and picture, and there is no Stop button. */
const FAILED_COLUMNS: readonly Column<AdminSession>[] = [
  ...SESSION_COLUMNS.filter(({ head }) => !['State', 'Picture'].includes(head)),
  {
    head: msg('Why'),
    kind: 'wrap',
    cell: (session) => storyOf(session, Date.parse(session.created_at)).sentence,
  },
];

/**
 * A table of sessions. The name of a session links to its page.
 * @param props.failed all sessions failed, so a column shows the reason
 * @param props.sessions undefined while loading
 * @param props.order shown in the heads of the columns; the server sorts. Missing: the heads are no buttons
 */
export function SessionTable(props: {
  failed?: boolean;
  sessions: readonly AdminSession[] | undefined;
  order?: TableOrder;
}) {
  const [stopping, setStopping] = useState<Stoppable | null>(null);
  const failed = props.failed === true;
  return (
    <>
      <ListTable
        label={failed ? t('Failures') : t('Sessions')}
        columns={failed ? FAILED_COLUMNS : [...SESSION_COLUMNS, stopColumn(setStopping)]}
        rows={props.sessions}
        rowKey={(session) => session.id}
        {...(props.order && { order: props.order })}
      />
      <StopSession session={stopping} onClose={() => setStopping(null)} />
    </>
  );
}

const nameOf = (session: AdminSession): string => session.app_name ?? t('Deleted app');
