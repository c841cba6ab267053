import { LaunchRefusal } from '../launch/launch-refusal.tsx';
import { useOwnSessions } from '../launch/own-sessions.ts';

/**
 * Why a launch from the page of a session was refused. Asks for the person's sessions only then: one of them may be in
 * the way.
 */
export function RefusedAgain(props: { error: unknown; trying: boolean; retry: () => void }) {
  const { live } = useOwnSessions();
  return <LaunchRefusal {...props} live={live} />;
}
