import { useEffect, useState } from 'react';
import type { LaunchedApp } from './use-launch.ts';

/** An app that is launched as soon as the running session is over, because only then its slot and its files are free. */
export interface NextLaunch {
  /** null: nothing is launched after the session */
  next: LaunchedApp | null;
  launchNext: (app: LaunchedApp) => void;
  /** The session did not end, or the person ended it for another reason: its later end launches nothing. */
  forget: () => void;
}

/** @param over whether the session has ended */
export function useNextLaunch(over: boolean, launch: (app: LaunchedApp) => void): NextLaunch {
  const [next, setNext] = useState<LaunchedApp | null>(null);
  useEffect(() => {
    if (over && next !== null) launch(next);
  }, [over, next, launch]);
  return { next, launchNext: setNext, forget: () => setNext(null) };
}
