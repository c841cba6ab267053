import { msg, t } from '../i18n/translate.ts';
import styles from './server-notice.module.css';
import { type ServerState, useServerState } from './server-state.ts';

const WORDS: Readonly<Record<Exclude<ServerState, 'fine'>, string>> = {
  slow: msg('The server takes long to answer. This page waits.'),
  failing: msg('The server has a problem. This page tries again automatically.'),
  away: msg('The server cannot be reached. This page tries again automatically.'),
};

/** Shows that the server answers slowly, with errors, or not at all. */
export function ServerNotice() {
  const state = useServerState();
  return (
    <p className={styles.notice} role="status" data-state={state}>
      {state === 'fine' ? '' : t(WORDS[state])}
    </p>
  );
}
