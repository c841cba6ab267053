import type { Session } from '@footlight/protocol/rest';
import { useEffect, useState } from 'react';
import { clock } from '../../clock.ts';
import { useInputKind } from '../../focus/input-kind.ts';
import { signOf } from '../../focus/pad-kind.ts';
import { t } from '../../i18n/translate.ts';
import { leaveLabel } from '../bar/leave-labels.ts';
import { useGuestsLabel } from '../guests/use-guests-label.ts';
import { useReconnectLabel } from '../reconnect/use-reconnect-labels.ts';
import { takeTouchHint } from '../touch/touch-hint.ts';
import type { Touch } from '../touch/use-touch.ts';
import type { StreamView } from '../use-stream.ts';
import { noticeLabel } from './notice-labels.ts';
import { swapLabel } from './swap-labels.ts';

/** Time to read one line. */
export const HINT_MS = 4000;
/** Time to read two lines. */
const SWAP_WORDS_MS = 6000;
/** Time to read two lines. */
const NOTICE_MS = 6000;

export interface Toast {
  label: string;
  /** whether work is in progress, so that a spinner turns */
  busy: boolean;
}

/**
 * The most urgent message at the bottom of the picture; null: no message.
 * @param recordAtMs when the session's record arrived, Unix ms
 * @param barAsked whether keys or a gamepad opened the bar
 * @param touch what fingers do, on a device with a touch screen
 */
export function useToast(
  stream: StreamView,
  session: Session | undefined,
  {
    ending,
    recordAtMs,
    barAsked,
    touch,
  }: { ending: boolean; recordAtMs: number; barAsked: boolean; touch: Pick<Touch, 'kit' | 'holds'> },
): Toast | null {
  const detail = session?.state_detail ?? null;
  const swap = useSwapLabel(detail);
  const guests = useGuestsLabel(stream.guests);
  const notice = useNotice(stream.notice) ?? guests;
  const leaving = useLeaveLabel(stream);
  const padHint = usePadHint(stream.shown, barAsked);
  const touchHint = useTouchHint(stream.shown && touch.kit !== null, touch.holds);
  const hint = padHint ?? touchHint;
  const reconnecting = useReconnectLabel(stream.state, session, recordAtMs);
  if (ending) return stream.shown ? { label: t('Ending'), busy: true } : still(notice ?? leaving ?? hint);
  if (reconnecting !== null) return { label: reconnecting, busy: true };
  if (swap !== null) return { label: swap, busy: detail === 'swapping' };
  return still(notice ?? leaving ?? hint);
}

function still(label: string | null): Toast | null {
  return label === null ? null : { label, busy: false };
}

/** Progress of a swap; its result is shown for a while. */
function useSwapLabel(detail: string | null): string | null {
  const [over, setOver] = useState<string | null>(null);
  useEffect(() => {
    setOver(null);
    if (detail === null || detail === 'swapping') return;
    const timer = clock.setTimeout(() => setOver(detail), SWAP_WORDS_MS);
    return () => timer.cancel();
  }, [detail]);
  return over === detail && detail !== null ? null : swapLabel(detail);
}

/** How to leave full screen, shown for a while after the person entered it; null: not shown now. */
function useLeaveLabel({ input }: StreamView): string | null {
  const fullscreen = input?.fullscreen ?? false;
  const [until, setUntil] = useState(false);
  useEffect(() => {
    setUntil(fullscreen);
    if (!fullscreen) return;
    const timer = clock.setTimeout(() => setUntil(false), HINT_MS);
    return () => timer.cancel();
  }, [fullscreen]);
  return until && input !== null ? leaveLabel(input) : null;
}

/**
 * How to open the controls with a gamepad, shown for a while after the first picture if the person uses a gamepad;
 * null: not shown now.
 */
function usePadHint(shown: boolean, barAsked: boolean): string | null {
  const input = useInputKind();
  const [until, setUntil] = useState(false);
  useEffect(() => {
    setUntil(shown);
    if (!shown) return;
    const timer = clock.setTimeout(() => setUntil(false), HINT_MS);
    return () => timer.cancel();
  }, [shown]);
  // A person who has opened the controls does not need the hint any more.
  useEffect(() => {
    if (barAsked) setUntil(false);
  }, [barAsked]);
  if (!until || input === 'pointer' || input === 'keys') return null;
  return t('Hold {view} and {menu} for the controls', {
    view: signOf(input, 'quality'),
    menu: signOf(input, 'menu'),
  });
}

/**
 * How to open the controls with a finger, shown for a while in the first session of this browser; null: not shown now.
 * @param touched whether the picture is shown on a device with a touch screen
 * @param holds whether the app gets long presses, so that only the handle opens the controls
 */
function useTouchHint(touched: boolean, holds: boolean): string | null {
  const [until, setUntil] = useState(false);
  useEffect(() => {
    if (!touched || !takeTouchHint()) return;
    setUntil(true);
    const timer = clock.setTimeout(() => setUntil(false), NOTICE_MS);
    return () => {
      timer.cancel();
      setUntil(false);
    };
  }, [touched]);
  if (!until) return null;
  return holds
    ? t('Press the handle at the edge for the controls')
    : t('Hold a finger on the picture for the controls');
}

/** A message of the host, shown long enough to read it. */
function useNotice(notice: StreamView['notice']): string | null {
  const [read, setRead] = useState<StreamView['notice']>(null);
  useEffect(() => {
    if (notice === null) return;
    const timer = clock.setTimeout(() => setRead(notice), NOTICE_MS);
    return () => timer.cancel();
  }, [notice]);
  return notice === null || notice === read ? null : noticeLabel(notice);
}
