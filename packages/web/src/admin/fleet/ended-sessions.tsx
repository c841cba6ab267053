import type { AdminSession } from '@footlight/protocol/rest';
import { plural, t } from '../../i18n/translate.ts';
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
            {t('{app} of {user}', {
              app: session.app_name ?? t('Deleted app'),
              user: session.username ?? t('a deleted account'),
            })}
          </li>
        ))}
        {more > 0 && (
          <li>
            {named.length === 0
              ? plural(more, '{n} session', '{n} sessions')
              : plural(more, 'and {n} other', 'and {n} others')}
          </li>
        )}
      </ul>
      <p>{t('What the apps have not saved is lost.')}</p>
    </>
  );
}
