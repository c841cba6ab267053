import { LaunchRefusal } from '../launch/launch-refusal.tsx';
import { useOwnSessions } from '../launch/own-sessions.ts';

/**
 * Explains why a launch from a session's page was refused. Only in this case the person's sessions are requested,
 * because one of them may prevent the launch.
 */
export function RefusedAgain(props: { error: unknown; trying: boolean; retry: () => void }) {
  const { live } = useOwnSessions();
  return <LaunchRefusal {...props} live={live} />;
}
