import type { StreamState } from '@footlight/stream-client';
import { Button } from '@mantine/core';
import styles from '../session.module.css';

type Ended = Extract<StreamState, { kind: 'ended' }>;

/** Why the picture ended although the app goes on, and what the person can do. */
export default function StreamEndedCard(props: { state: Ended; onAgain: () => void; onLibrary: () => void }) {
  const { reason, code, message } = props.state;
  const [title, advice, act] = STREAM_ENDS[reason] ?? STREAM_ENDS.error;
  return (
    <div className={styles.card} role="alertdialog" aria-label={title}>
      <h2>{title}</h2>
      <p>{advice}</p>
      {(code ?? message) !== null && <code>{[code, message].filter(Boolean).join(' · ')}</code>}
      <div className={styles.cardActions}>
        <Button
          variant="filled"
          autoFocus
          onClick={reason === 'reload' ? () => window.location.reload() : props.onAgain}
        >
          {act}
        </Button>
        <Button onClick={props.onLibrary}>Back to the library</Button>
      </div>
    </div>
  );
}

type EndText = [title: string, advice: string, act: string];
const STREAM_ENDS: Partial<Record<Ended['reason'], EndText>> & { error: EndText } = {
  taken_over: [
    'It moved to another window',
    'The app goes on there. You can bring it back here.',
    'Use it here',
  ],
  codec_unsupported: [
    'This browser cannot play the picture',
    'The app goes on. Another browser, or a current version of this one, can show it.',
    'Try again',
  ],
  reload: ['This page is out of date', 'The server was updated. The app goes on.', 'Reload'],
  refused: ['You cannot watch this session', 'Only the person who launched it can.', 'Try again'],
  error: ['The picture could not be shown', 'The app goes on. Try again in a moment.', 'Try again'],
};
