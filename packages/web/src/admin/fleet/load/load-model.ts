/** The load of a host as small charts. Pure. */
import type { HostLoadSample } from '@footlight/protocol/rest';
import { decimalLabel } from '../../../i18n/number-labels.ts';
import { plural, t } from '../../../i18n/translate.ts';
import { type SeriesPoint, type Span, topOf } from '../../diagnosis/chart-model.ts';
import { megabytesLabel } from '../../frame/quantity-labels.ts';

export interface LoadLine {
  label: string;
  points: readonly SeriesPoint[];
}

/** One chart: its newest values as text, and its lines in the unit of the axis. */
export interface LoadChart {
  key: 'cpu' | 'gpu' | 'memory' | 'network' | 'sessions';
  label: string;
  /** The newest values; null: not measured. */
  now: string | null;
  /** The same for screen readers, if `now` has signs that they do not read well. */
  spoken?: string;
  lines: readonly LoadLine[];
  /** Upper end of the axis, which begins at 0, with its label. */
  top: number;
  topLabel: string;
}

/** The last five minutes, or the last hour: the service keeps samples for an hour. */
export type LoadWindow = 'minutes' | 'hour';
const SHOWN_MS: Readonly<Record<LoadWindow, number>> = { minutes: 5 * 60_000, hour: 60 * 60_000 };

type Samples = readonly HostLoadSample[];
type Read = (sample: HostLoadSample) => number | null;

const lineOf = (label: string, samples: Samples, read: Read): LoadLine => ({
  label,
  points: samples.flatMap((sample) => {
    const v = read(sample);
    return v === null ? [] : [{ ts_unix_ms: sample.ts_unix_ms, v }];
  }),
});
const newestOf = ({ points }: LoadLine): number | undefined => points.at(-1)?.v;
const percentLabel = (share: number): string => `${Math.round(share * 100)} %`;
/** The sent and the received rate, as shown and as read aloud. */
const bothLabels = (sent: number, received: number) => ({
  now: `↑ ${megabits(sent)} ↓ ${megabits(received)} Mbit/s`,
  spoken: t('{sent} sent, {received} received', {
    sent: megabitLabel(sent),
    received: megabitLabel(received),
  }),
});
const megabits = (kbps: number): string => decimalLabel(kbps / 1000, kbps < 10_000 ? 1 : 0);
const megabitLabel = (kbps: number): string => `${megabits(kbps)} Mbit/s`;

/** The window that ends at the newest sample, on the service's clock. */
export function spanOf(samples: Samples, shown: LoadWindow): Span {
  const to_ms = samples.at(-1)?.ts_unix_ms ?? 0;
  return { from_ms: to_ms - SHOWN_MS[shown], to_ms };
}

/** The samples of a window. */
export function samplesIn(samples: Samples, { from_ms }: Span): Samples {
  return samples.filter(({ ts_unix_ms }) => ts_unix_ms >= from_ms);
}

/**
 * CPU, GPU, memory, network and sessions, in this order.
 * @param memMb memory of the host, MB; null: not reported
 * @param slots encode slots of the host; 0: none known
 */
export function loadCharts(samples: Samples, memMb: number | null, slots: number): LoadChart[] {
  const cpu = lineOf(t('busy'), samples, ({ cpu_busy }) => cpu_busy);
  const gpus = gpuLines(samples);
  const memory = lineOf(t('in use'), samples, ({ mem_free_mb }) =>
    mem_free_mb === null || memMb === null ? null : Math.max(0, memMb - mem_free_mb),
  );
  const sent = lineOf(t('sent'), samples, ({ net_tx_kbps }) => net_tx_kbps);
  const received = lineOf(t('received'), samples, ({ net_rx_kbps }) => net_rx_kbps);
  const sessions = lineOf(t('sessions'), samples, (sample) => sample.sessions);
  const busiest = Math.max(...gpus.map((line) => newestOf(line) ?? -1));
  const netTop = topOf([...sent.points, ...received.points].map(({ v }) => v));
  const sessionTop = Math.max(slots, 1, ...sessions.points.map(({ v }) => v));
  const both = [newestOf(sent), newestOf(received)] as const;
  return [
    {
      key: 'cpu',
      label: t('Processor'),
      now: told(newestOf(cpu), percentLabel),
      lines: [cpu],
      top: 1,
      topLabel: '100 %',
    },
    {
      key: 'gpu',
      label: t('GPU encoder'),
      now: busiest < 0 ? null : percentLabel(busiest),
      lines: gpus,
      top: 1,
      topLabel: '100 %',
    },
    {
      key: 'memory',
      label: t('Memory'),
      now: told(newestOf(memory), (mb) =>
        t('{used} of {total}', { used: megabytesLabel(Math.round(mb)), total: megabytesLabel(memMb) }),
      ),
      lines: [memory],
      top: memMb ?? 1,
      topLabel: megabytesLabel(memMb),
    },
    {
      key: 'network',
      label: t('Network'),
      ...(both[0] === undefined || both[1] === undefined ? { now: null } : bothLabels(both[0], both[1])),
      lines: [sent, received],
      top: netTop,
      topLabel: sent.points.length + received.points.length === 0 ? '' : megabitLabel(netTop),
    },
    {
      key: 'sessions',
      label: t('Sessions'),
      now: told(newestOf(sessions), (count) =>
        slots === 0 ? `${count}` : plural(slots, '{count} on {n} slot', '{count} on {n} slots', { count }),
      ),
      lines: [sessions],
      top: sessionTop,
      topLabel: `${sessionTop}`,
    },
  ];
}

const told = (value: number | undefined, label: (value: number) => string): string | null =>
  value === undefined ? null : label(value);

/** A line for each GPU whose encoder load is measured. */
function gpuLines(samples: Samples): LoadLine[] {
  const indexes = samples.at(-1)?.gpus.map(({ gpu_index }) => gpu_index) ?? [];
  return indexes
    .map((index) =>
      lineOf(
        `GPU ${index}`,
        samples,
        ({ gpus }) => gpus.find(({ gpu_index }) => gpu_index === index)?.encoder_busy ?? null,
      ),
    )
    .filter(({ points }) => points.length > 0);
}
