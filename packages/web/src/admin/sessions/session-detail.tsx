import type { AdminSession } from '@footlight/protocol/rest';
import { RelativeTime } from '../../components/relative-time.tsx';
import styles from '../frame/admin-pages.module.css';
import { healthWords } from './health-words.ts';
import { SessionPlacement } from './session-placement.tsx';

/** All fields of a session's record. */
export function SessionDetail({ session }: { session: AdminSession }) {
  const { stream } = session;
  const texts: [string, string | null | undefined][] = [
    ['Shown', shownWords(session)],
    ['Detail', session.state_detail],
    ['Failure', session.failure_code],
    ['Message', session.error_message],
    ['End reason', session.end_reason],
    ['Health', session.health_state === 'healthy' ? 'Good' : healthWords(session)],
    ['App', session.app_launch_state?.replaceAll('_', ' ')],
    ['Codec', session.negotiated_codec],
    ['Profile', session.profile_id],
    ['Rung', session.stream_profile_id],
  ];
  return (
    <div className={styles.stack}>
      <dl className={styles.facts}>
        <dt>Session</dt>
        <dd className={styles.mono}>{session.id}</dd>
        {texts.map(
          ([name, value]) =>
            value && (
              <div key={name} style={{ display: 'contents' }}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
        <dt>Stream</dt>
        <dd className="tabular">
          {stream.width} × {stream.height}, {stream.fps} fps, {stream.bitrate_kbps} kbit/s, {stream.codec}
        </dd>
        <dt>Started</dt>
        <dd>
          <RelativeTime at={session.started_at} never={session.ended_at === null ? 'not yet' : 'never'} />
        </dd>
        <dt>Ended</dt>
        <dd>
          <RelativeTime at={session.ended_at} never="not yet" />
        </dd>
      </dl>
      <SessionPlacement sessionId={session.id} />
      {session.app_log_tail && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, which a keyboard must be able to do
        <pre className={styles.log} tabIndex={0} role="log" aria-label="The app’s last output">
          {session.app_log_tail}
        </pre>
      )}
    </div>
  );
}

/** Where the session is shown; undefined: in the page only. */
function shownWords({ video_topology }: AdminSession): string | undefined {
  if (video_topology === undefined) return undefined;
  return video_topology === 'local_only'
    ? 'on the display beside the host'
    : 'on the display beside the host, and to viewers';
}
