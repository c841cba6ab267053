import type { Session } from '@footlight/protocol/rest';
import { lazy, Suspense } from 'react';
import { Problem } from '../components/problem.tsx';

/** Loaded with the first refusal. Without its file the refusal is told alone. */
const LaunchRefused = lazy(() =>
  import('./launch-refused.tsx').then(
    (module) => ({ default: module.LaunchRefused }),
    () => ({ default: Problem }),
  ),
);

/**
 * Why a launch was refused, and what can be done about it.
 * @param live the person's sessions that have not ended
 * @param trying the launch is being tried again
 */
export function LaunchRefusal(props: {
  error: unknown;
  live: readonly Session[];
  trying: boolean;
  retry: () => void;
}) {
  return (
    <Suspense fallback={<Problem error={props.error} />}>
      <LaunchRefused {...props} />
    </Suspense>
  );
}
