import type { Session } from '@footlight/protocol/rest';
import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import { call } from '../../api/client.ts';
import { clock } from '../../clock.ts';
import type { StreamView } from '../use-stream.ts';
import { followsWindow, rememberFollowing } from './fit-choice.ts';
import { type PictureArea, pictureScale } from './window-fit.ts';
import type { WindowFollower } from './window-follower.ts';

export interface WindowFit {
  /** false: the app keeps the size of its launch */
  possible: boolean;
  /** whether the app's size follows the window */
  following: boolean;
  setFollowing: (follows: boolean) => void;
  /** factor by which the picture is enlarged, to hide the black bars of its display */
  scale: number;
}

/**
 * Adapts the session's sizes to the window, if the person chose this, and hides the black bars of a display with
 * another shape.
 * @param paused an element of the page, such as a dialog with an on-screen keyboard, may change the window's size
 */
export function useWindowFit(
  session: Session | undefined,
  stream: StreamView,
  surface: RefObject<HTMLElement | null>,
  paused: boolean,
): WindowFit {
  const area = usePictureArea(surface);
  const appId = session?.app_id;
  const possible = session !== undefined && session.stream.external_resize_supported !== false;
  const [choice, setChoice] = useState<{ appId: string; follows: boolean } | null>(null);
  const following = appId !== undefined && (choice?.appId === appId ? choice.follows : followsWindow(appId));
  const setFollowing = useCallback(
    (follows: boolean) => {
      if (appId === undefined) return;
      rememberFollowing(appId, follows);
      setChoice({ appId, follows });
    },
    [appId],
  );

  const id = session?.id;
  const follower = useRef<WindowFollower | null>(null);
  // Loaded when the person first turns this on. It stays loaded, because it also restores the launch size.
  const [Follower, setFollower] = useState<typeof WindowFollower | null>(null);
  useEffect(() => {
    if (!following || Follower !== null) return;
    import('./window-follower.ts').then(
      (module) => setFollower(() => module.WindowFollower),
      () => {},
    );
  }, [following, Follower]);
  useEffect(() => {
    if (id === undefined || Follower === null) return;
    const made = new Follower({
      request: (body) => call('sessions.display', { params: { id }, body }),
      nowMs: clock.monotonicMs,
      after: (ms, work) => {
        const timer = clock.setTimeout(work, ms);
        return () => timer.cancel();
      },
    });
    follower.current = made;
    return () => made.dispose();
  }, [id, Follower]);

  const { state } = stream;
  const live = state.kind === 'live' && state.signaling === 'connected' && !paused;
  useEffect(() => {
    // A follower that was just loaded does not know the current facts.
    if (Follower === null) return;
    const { stream: launch } = session ?? {};
    follower.current?.update({
      following,
      live,
      area,
      display: stream.display,
      bounds:
        launch === undefined
          ? null
          : {
              launch: { width: launch.width, height: launch.height },
              rungs: launch.rungs,
              resizable: possible,
            },
    });
  }, [Follower, session, possible, following, live, area, stream.display]);

  return { possible, following, setFollowing, scale: area === null ? 1 : pictureScale(area, stream.display) };
}

/** Size of the picture's area, updated when the window, full screen or the phone's orientation changes. */
function usePictureArea(surface: RefObject<HTMLElement | null>): PictureArea | null {
  const [area, setArea] = useState<PictureArea | null>(null);
  useEffect(() => {
    const element = surface.current;
    if (element === null) return;
    const measure = () => {
      const { clientWidth: width, clientHeight: height } = element;
      const dpr = window.devicePixelRatio || 1;
      setArea((before) =>
        before?.width === width && before.height === height && before.dpr === dpr
          ? before
          : { width, height, dpr },
      );
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    // The size in CSS pixels may stay the same after a zoom or a move to a screen with another pixel density.
    window.addEventListener('resize', measure);
    return () => {
      observer.disconnect();
      window.removeEventListener('resize', measure);
    };
  }, [surface]);
  return area;
}
