import type { AdminSession } from '@footlight/protocol/rest';
import { countLabel } from '../frame/quantity-labels.ts';
import styles from './fleet.module.css';

const SHOWN = 8;

/**
 * Sessions that an action will end, by app and person.
 * @param count number of these sessions, from the server
 */
export function EndedSessions({ sessions, count }: { sessions: readonly AdminSession[]; count: number }) {
  const named = sessions.slice(0, Math.min(SHOWN, count));
  const more = count - named.length;
  return (
    <>
      <ul className={styles.ended}>
        {named.map((session) => (
          <li key={session.id}>
            {session.app_name ?? 'Deleted app'} of {session.username ?? 'a deleted account'}
          </li>
        ))}
        {more > 0 && (
          <li>{named.length === 0 ? countLabel(more, 'session') : `and ${countLabel(more, 'other')}`}</li>
        )}
      </ul>
      <p>What the apps have not saved is lost.</p>
    </>
  );
}
