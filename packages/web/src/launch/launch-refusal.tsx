import type { Session } from '@footlight/protocol/rest';
import { lazy, Suspense } from 'react';
import { Problem } from '../components/problem.tsx';

/** Loaded with the first refusal. If its file cannot be loaded, only the error is shown. */
const LaunchRefused = lazy(() =>
  import('./launch-refused.tsx').then(
    (module) => ({ default: module.LaunchRefused }),
    () => ({ default: Problem }),
  ),
);

/**
 * Explains why a launch was refused, and offers remedies.
 * @param live the person's sessions that have not ended
 * @param trying whether the launch is being retried
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
