import { useIsFetching } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { clock } from '../clock.ts';
import styles from './components.module.css';

/** A placeholder of the content's size. Width and height in CSS lengths or pixels. */
export function Skeleton(props: { width?: number | string; height?: number | string; radius?: number }) {
  return (
    <span
      className={styles.skeleton}
      style={{
        display: 'block',
        width: props.width ?? '100%',
        height: props.height ?? 16,
        ...(props.radius === undefined ? {} : { borderRadius: props.radius }),
      }}
      aria-hidden="true"
    />
  );
}

/** Three frames: an answer may cause another request in the next frame. */
const SETTLED_MS = 50;

/**
 * Whether all first requests of a page are answered. If a part were shown earlier, parts above it that load later would
 * push it down. Failed requests count as answered, and later requests change nothing.
 */
export function useSettled(): boolean {
  const [isSettled, setSettled] = useState(false);
  const awaited = useIsFetching({ type: 'active', predicate: ({ state }) => state.status === 'pending' });
  useEffect(() => {
    if (isSettled || awaited > 0) return;
    const timer = clock.setTimeout(() => setSettled(true), SETTLED_MS);
    return () => timer.cancel();
  }, [isSettled, awaited]);
  return isSettled;
}
