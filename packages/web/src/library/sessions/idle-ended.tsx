import type { AppListItem, Session } from '@footlight/protocol/rest';
import { ActionIcon, Button } from '@mantine/core';
import { IconClockOff, IconX } from '@tabler/icons-react';
import { useState } from 'react';
import { RelativeTime } from '../../components/relative-time.tsx';
import { rich, t } from '../../i18n/translate.ts';
import styles from '../library.module.css';
import { useAppOf } from '../use-library.ts';
import { idleEnded } from './idle-sessions.ts';

const KEY = 'footlight.idle-ended.seen';
/** Largest number of sessions in one page of the list. */
const MAX_SEEN = 50;

/**
 * Shows the sessions that the idle time-out has ended since the last visit. Each stays until the person dismisses it.
 */
export function IdleEnded(props: {
  sessions: readonly Session[];
  apps: readonly AppListItem[];
  onLaunch: (app: AppListItem) => void;
}) {
  const [seen, setSeen] = useState(readSeen);
  const dismiss = (id: string) => {
    const next = [id, ...seen].slice(0, MAX_SEEN);
    setSeen(next);
    localStorage.setItem(KEY, JSON.stringify(next));
  };
  return idleEnded(props.sessions, seen).map((session) => (
    <Note
      key={session.id}
      session={session}
      apps={props.apps}
      onDismiss={dismiss}
      onLaunch={props.onLaunch}
    />
  ));
}

function Note(props: {
  session: Session;
  apps: readonly AppListItem[];
  onDismiss: (id: string) => void;
  onLaunch: (app: AppListItem) => void;
}) {
  const { session } = props;
  const app = useAppOf(session.app_id, props.apps);
  const name = app?.name ?? t('An app');
  return (
    <aside className={styles.note} aria-label={t('{app} was ended', { app: name })}>
      <IconClockOff size={20} aria-hidden="true" />
      <p>
        {rich('{app} was ended because nobody used it for a while, {time}.', {
          app: <strong key="app">{name}</strong>,
          time: <RelativeTime key="time" at={session.ended_at} />,
        })}
      </p>
      {app !== undefined && (
        <Button
          size="xs"
          onClick={() => {
            props.onDismiss(session.id);
            props.onLaunch(app);
          }}
        >
          {t('Launch again')}
        </Button>
      )}
      <ActionIcon
        aria-label={t('Dismiss: {app} was ended', { app: name })}
        onClick={() => props.onDismiss(session.id)}
      >
        <IconX size={18} />
      </ActionIcon>
    </aside>
  );
}

function readSeen(): readonly string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(stored) ? stored.filter((id) => typeof id === 'string') : [];
  } catch {
    return [];
  }
}
