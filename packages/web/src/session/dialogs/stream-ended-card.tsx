import type { StreamState } from '@footlight/stream-client';
import { Button } from '@mantine/core';
import { msg, t } from '../../i18n/translate.ts';
import styles from '../session.module.css';

type Ended = Extract<StreamState, { kind: 'ended' }>;

/** Explains why the picture ended although the app still runs, and offers the next actions. */
export default function StreamEndedCard(props: { state: Ended; onAgain: () => void; onLibrary: () => void }) {
  const { reason, code, message } = props.state;
  const [title, advice, action] = STREAM_ENDS[reason] ?? STREAM_ENDS.error;
  return (
    <div className={styles.card} role="alertdialog" aria-label={t(title)}>
      <h2>{t(title)}</h2>
      <p>{t(advice)}</p>
      {(code ?? message) !== null && <code>{[code, message].filter(Boolean).join(' · ')}</code>}
      <div className={styles.cardActions}>
        <Button
          variant="filled"
          autoFocus
          onClick={reason === 'reload' ? () => window.location.reload() : props.onAgain}
        >
          {t(action)}
        </Button>
        <Button onClick={props.onLibrary}>{t('Back to the library')}</Button>
      </div>
    </div>
  );
}

type EndText = [title: string, advice: string, action: string];
const STREAM_ENDS: Partial<Record<Ended['reason'], EndText>> & { error: EndText } = {
  taken_over: [
    msg('The picture moved to another window'),
    msg('The app keeps running there. You can bring it back here.'),
    msg('Use it here'),
  ],
  codec_unsupported: [
    msg('This browser cannot play the picture'),
    msg('The app keeps running. Another browser, or a current version of this one, can show it.'),
    msg('Try again'),
  ],
  reload: [
    msg('This page is out of date'),
    msg('The server was updated. The app keeps running.'),
    msg('Reload'),
  ],
  refused: [
    msg('You cannot watch this session'),
    msg('Only the person who launched it can.'),
    msg('Try again'),
  ],
  error: [
    msg('The picture could not be shown'),
    msg('The app keeps running. Try again in a moment.'),
    msg('Try again'),
  ],
};
