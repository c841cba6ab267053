import type { StreamStats } from '@footlight/stream-client';
import styles from './session.module.css';
import type { StatsLevel } from './stats-level.ts';

interface Measure {
  key: string;
  label: string;
  unit: string;
  read: (stats: StreamStats) => number | undefined;
}

const MEASURES: readonly Measure[] = [
  { key: 'fps', label: 'Frames', unit: '/s', read: (stats) => number(stats.metrics.fps) },
  { key: 'rate', label: 'Rate', unit: 'Mbit/s', read: (stats) => number(stats.metrics.bitrate_kbps, 1000) },
  { key: 'delay', label: 'Round trip', unit: 'ms', read: (stats) => number(stats.metrics.rtt_ms) },
  {
    key: 'loss',
    label: 'Loss',
    unit: '%',
    read: (stats) => (stats.loss === null ? undefined : stats.loss * 100),
  },
  { key: 'decode', label: 'Decode', unit: 'ms', read: (stats) => number(stats.metrics.decode_ms) },
  { key: 'buffer', label: 'Buffer', unit: 'ms', read: (stats) => number(stats.metrics.jitter_buffer_ms) },
];

/** Statistics in the picture's corner: one line, or graphs of the last minute. */
export function StatsView({ history, level }: { history: readonly StreamStats[]; level: StatsLevel }) {
  const last = history.at(-1);
  if (level === 'dot' || last === undefined) return null;
  const size = last.width > 0 ? `${last.width} × ${last.height}` : '';
  const codec = last.codec_mime_type?.replace('video/', '') ?? '';
  if (level === 'line') {
    return (
      <div className={styles.corner} data-stream-overlay="">
        {last.quality.reason && <p className={styles.strip}>{last.quality.reason}</p>}
        <dl className={styles.strip}>
          {MEASURES.map((measure) => (
            <div key={measure.key}>
              <dt>{measure.label}</dt>
              <dd>{valueWords(measure.read(last), measure.unit)}</dd>
            </div>
          ))}
          <div>
            <dt>Picture</dt>
            <dd>{[size, codec].filter(Boolean).join(' · ') || '–'}</dd>
          </div>
        </dl>
      </div>
    );
  }
  return (
    <div className={styles.corner} data-stream-overlay="">
      <div className={styles.graphs}>
        {MEASURES.map((measure) => (
          <figure key={measure.key}>
            <figcaption className={styles.graphHead}>
              {measure.label} <b>{valueWords(measure.read(last), measure.unit)}</b>
            </figcaption>
            <Sparkline values={history.map(measure.read)} />
          </figure>
        ))}
      </div>
    </div>
  );
}

const WIDTH = 190;
const HEIGHT = 40;
const SLOTS = 60;

function Sparkline({ values }: { values: readonly (number | undefined)[] }) {
  const known = values.filter((value): value is number => value !== undefined);
  const top = Math.max(1, ...known) * 1.1;
  // A missing measurement is a gap in the line, never a zero.
  let pen = 'M';
  let path = '';
  for (const [index, value] of values.entries()) {
    if (value === undefined) {
      pen = 'M';
      continue;
    }
    const x = WIDTH - ((values.length - 1 - index) * WIDTH) / (SLOTS - 1);
    const y = HEIGHT - 1 - (Math.max(0, value) / top) * (HEIGHT - 4);
    path += `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = 'L';
  }
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} stroke="currentColor" strokeOpacity="0.2" />
      <path d={path} fill="none" stroke="currentColor" strokeWidth="1.5" vectorEffect="non-scaling-stroke" />
    </svg>
  );
}

function number(value: number | boolean | undefined, dividedBy = 1): number | undefined {
  return typeof value === 'number' ? value / dividedBy : undefined;
}

function valueWords(value: number | undefined, unit: string): string {
  if (value === undefined) return '–';
  const digits = value >= 100 || unit === '/s' ? 0 : 1;
  return `${value.toFixed(digits)} ${unit}`;
}
