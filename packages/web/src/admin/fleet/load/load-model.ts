/** The load of a host as small charts. Pure. */
import type { HostLoadSample } from '@footlight/protocol/rest';
import { decimalLabel } from '../../../i18n/number-labels.ts';
import { plural, t } from '../../../i18n/translate.ts';
import { GAP_MS, type Span } from '../../diagnosis/chart-model.ts';
import type { ChartLine } from '../../frame/chart/chart-lines.ts';
import type { ChartAxes } from '../../frame/chart/plot-options.ts';
import { megabytesLabel } from '../../frame/quantity-labels.ts';

export interface LoadLine extends ChartLine {
  label: string;
}

/** One chart: its newest values as text, and its lines in the unit of the axis, which begins at 0. */
export interface LoadChart {
  key: 'cpu' | 'gpu' | 'memory' | 'network' | 'sessions';
  label: string;
  /** The newest values; null: not measured. */
  now: string | null;
  /** The same for screen readers, if `now` has signs that they do not read well. */
  spoken?: string;
  lines: readonly LoadLine[];
  /** Upper end of the axis, unless a value is above it. */
  top: number;
  axis: ChartAxes;
  /** Label of a value in a table. */
  cell: (value: number) => string;
}

/** The last five minutes, or the last hour: the service keeps samples for an hour. */
export type LoadWindow = 'minutes' | 'hour';
const SHOWN_MS: Readonly<Record<LoadWindow, number>> = { minutes: 5 * 60_000, hour: 60 * 60_000 };

type Samples = readonly HostLoadSample[];
type Read = (sample: HostLoadSample) => number | null;

const lineOf = (label: string, samples: Samples, read: Read): LoadLine => ({
  label,
  points: samples.flatMap((sample) => {
    const y = read(sample);
    return y === null ? [] : [{ x: sample.ts_unix_ms, y }];
  }),
});
const newestOf = ({ points }: LoadLine): number | undefined => points.at(-1)?.y;
const percentOf = (share: number | null): number | null => share && share * 100;
const percentLabel = (percent: number): string => `${Math.round(percent)} %`;
const GIGABYTE_MB = 1024;
const MEGABIT_KBIT = 1000;
const PERCENT = { top: 100, axis: { unit: '%', step: 1 }, cell: percentLabel };
/** The sent and the received rate, as shown and as read aloud. */
const bothLabels = (sent: number, received: number) => ({
  now: `↑ ${megabits(sent)} ↓ ${megabits(received)} Mbit/s`,
  spoken: t('{sent} sent, {received} received', {
    sent: megabitLabel(sent),
    received: megabitLabel(received),
  }),
});
const megabits = (kbps: number): string => decimalLabel(kbps / MEGABIT_KBIT, kbps < 10_000 ? 1 : 0);
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
 * Longest distance between two samples that a line joins. As in other series, more than two missing samples are a gap;
 * the longer window has one sample for each minute.
 */
export const LOAD_GAP_MS: Readonly<Record<LoadWindow, number>> = { minutes: GAP_MS.agent, hour: 150_000 };

/** The sample nearest to a moment; empty in a gap. */
export function sampleAt(samples: Samples, ms: number, shown: LoadWindow): Samples {
  const distance = ({ ts_unix_ms }: HostLoadSample) => Math.abs(ts_unix_ms - ms);
  const nearest = samples.toSorted((a, b) => distance(a) - distance(b)).slice(0, 1);
  return nearest.filter((sample) => distance(sample) <= LOAD_GAP_MS[shown] / 2);
}

/**
 * CPU, GPU, memory, network and sessions, in this order.
 * @param memMb memory of the host, MB; null: not reported
 * @param slots encode slots of the host; 0: none known
 */
export function loadCharts(samples: Samples, memMb: number | null, slots: number): LoadChart[] {
  const cpu = lineOf(t('busy'), samples, ({ cpu_busy }) => percentOf(cpu_busy));
  const gpus = gpuLines(samples);
  const memory = lineOf(t('in use'), samples, ({ mem_free_mb }) =>
    mem_free_mb === null || memMb === null ? null : Math.max(0, memMb - mem_free_mb),
  );
  const sent = lineOf(t('sent'), samples, ({ net_tx_kbps }) => net_tx_kbps);
  const received = lineOf(t('received'), samples, ({ net_rx_kbps }) => net_rx_kbps);
  const sessions = lineOf(t('sessions'), samples, (sample) => sample.sessions);
  const busiest = Math.max(...gpus.map((line) => newestOf(line) ?? -1));
  const both = [newestOf(sent), newestOf(received)] as const;
  return [
    {
      key: 'cpu',
      label: t('Processor'),
      now: told(newestOf(cpu), percentLabel),
      lines: [cpu],
      ...PERCENT,
    },
    {
      key: 'gpu',
      label: t('GPU encoder'),
      now: busiest < 0 ? null : percentLabel(busiest),
      lines: gpus,
      ...PERCENT,
    },
    {
      key: 'memory',
      label: t('Memory'),
      now: told(newestOf(memory), (mb) =>
        t('{used} of {total}', { used: megabytesLabel(Math.round(mb)), total: megabytesLabel(memMb) }),
      ),
      lines: [memory],
      top: memMb ?? GIGABYTE_MB,
      axis: { unit: 'GB', unitSize: GIGABYTE_MB, step: 1 },
      cell: (mb) => megabytesLabel(Math.round(mb)),
    },
    {
      key: 'network',
      label: t('Network'),
      ...(both[0] === undefined || both[1] === undefined ? { now: null } : bothLabels(both[0], both[1])),
      lines: [sent, received],
      top: MEGABIT_KBIT,
      axis: { unit: 'Mbit/s', unitSize: MEGABIT_KBIT, step: 0.1 },
      cell: megabitLabel,
    },
    {
      key: 'sessions',
      label: t('Sessions'),
      now: told(newestOf(sessions), (count) =>
        slots === 0
          ? `${count}`
          : `${plural(count, '{n} session', '{n} sessions')}, ${plural(slots, '{n} slot', '{n} slots')}`,
      ),
      lines: [sessions],
      top: Math.max(slots, 1),
      axis: { unit: '', step: 1 },
      cell: String,
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
      lineOf(`GPU ${index}`, samples, ({ gpus }) =>
        percentOf(gpus.find(({ gpu_index }) => gpu_index === index)?.encoder_busy ?? null),
      ),
    )
    .filter(({ points }) => points.length > 0);
}
