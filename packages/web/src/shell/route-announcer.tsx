import { useRouterState } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { clock } from '../clock.ts';

/** Announces the new page's title to screen readers, because client-side navigation does not announce it. */
export function RouteAnnouncer() {
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  const [title, setTitle] = useState('');
  useEffect(() => {
    if (path === undefined) return;
    // Waits, because the page sets its title in an effect of the same turn.
    const timer = clock.setTimeout(() => setTitle(document.title), 100);
    return () => timer.cancel();
  }, [path]);
  return (
    <div className="visually-hidden" aria-live="polite">
      {title}
    </div>
  );
}
