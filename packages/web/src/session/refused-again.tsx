import { LaunchRefusal } from '../launch/launch-refusal.tsx';
import { useOwnSessions } from '../launch/own-sessions.ts';

/**
 * Why a launch from a session's page was refused. Only then the person's sessions are requested, because one of them
 * may be in the way.
 */
export function RefusedAgain(props: { error: unknown; trying: boolean; retry: () => void }) {
  const { live } = useOwnSessions();
  return <LaunchRefusal {...props} live={live} />;
}
