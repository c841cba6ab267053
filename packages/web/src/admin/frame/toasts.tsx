import { Notifications, useNotifications } from '@mantine/notifications';
import { useEffect, useRef } from 'react';
import styles from './toasts.module.css';

/** Toasts in the browser's top layer. Dialogs are there too, and their backdrops would cover toasts elsewhere. */
export function Toasts() {
  const layer = useRef<HTMLDivElement>(null);
  const { length } = useNotifications().notifications;
  useEffect(() => {
    const { current } = layer;
    if (length === 0 || current?.showPopover === undefined) return;
    // The element that was shown last is the topmost one.
    if (current.matches(':popover-open')) current.hidePopover();
    current.showPopover();
  }, [length]);
  return (
    <div ref={layer} popover="manual" className={styles.toasts}>
      <Notifications position="bottom-right" limit={4} withinPortal={false} />
    </div>
  );
}
