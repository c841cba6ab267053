import type { WatchingGuest } from '@footlight/protocol/input';
import { useEffect, useRef, useState } from 'react';
import { clock } from '../../clock.ts';
import { t } from '../../i18n/translate.ts';
import { watchingLabel } from './guest-labels.ts';

/** Time to read one line. */
const SHOWN_MS = 5000;

/** The message about a guest who has just come or left, shown for a while; null: no message. */
export function useGuestsLabel(guests: readonly WatchingGuest[]): string | null {
  const [label, setLabel] = useState<string | null>(null);
  const before = useRef(guests);
  useEffect(() => {
    const came = guests.find(({ id }) => before.current.every((guest) => guest.id !== id));
    const left = before.current.find(({ id }) => guests.every((guest) => guest.id !== id));
    before.current = guests;
    if (came === undefined && left === undefined) return;
    setLabel(came === undefined ? t('{name} has left', { name: left?.name ?? '' }) : watchingLabel([came]));
    const timer = clock.setTimeout(() => setLabel(null), SHOWN_MS);
    return () => timer.cancel();
  }, [guests]);
  return label;
}
