/** The message while the picture is being restored. Pure. */
import type { StreamState } from '@footlight/stream-client';
import { durationLabel } from '../../i18n/duration-labels.ts';
import { plural, t } from '../../i18n/translate.ts';

const SECOND_MS = 1_000;

/** Current durations in ms; null: unknown, or not applicable. */
export interface ReconnectTimes {
  /** time since the picture was lost */
  awayMs: number;
  /** time until the next attempt */
  nextMs: number | null;
  /** time until the host ends the app because it has no viewer, from the host's last report */
  endsMs: number | null;
}

type Reconnecting = Extract<StreamState, { kind: 'reconnecting' }>;

/** Describes the lost part and for how long it is lost, the page's next attempt, and when the app will end. */
export function reconnectLabel({ why }: Pick<Reconnecting, 'why'>, times: ReconnectTimes): string[] {
  const seconds = Math.max(1, Math.round(times.awayMs / SECOND_MS));
  const next = times.nextMs === null ? 0 : Math.round(times.nextMs / SECOND_MS);
  return [
    why === 'network'
      ? plural(seconds, 'No network for {n} second.', 'No network for {n} seconds.')
      : plural(seconds, 'No picture for {n} second.', 'No picture for {n} seconds.'),
    next > 0
      ? plural(next, 'Next attempt in {n} second.', 'Next attempt in {n} seconds.')
      : t('Reconnecting automatically.'),
    times.endsMs === null
      ? t('The app keeps running.')
      : t('The app stays open for {time}.', { time: durationLabel(Math.max(0, times.endsMs)) }),
  ];
}
