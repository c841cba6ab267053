import type { DelaySplit, StreamStats } from '@footlight/stream-client';
import { ActionIcon } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { t } from '../../i18n/translate.ts';
import { causeLabel, QUALITY_LABELS } from '../quality-labels.ts';
import { Graph } from './graph.tsx';
import {
  clickToPhoton,
  costlyPathLabel,
  DELAY,
  FRAMES,
  factsOf,
  framesShown,
  type Measure,
  newestSplit,
  OTHERS,
  PARTS,
  valueLabel,
} from './measures.ts';
import styles from './stats.module.css';
import type { StatsLevel } from './stats-level.ts';

/**
 * Statistics in the picture's corner, in three levels: one line for players, two graphs for people who search for a
 * cause, and all measurements.
 */
export function StatsView(props: {
  history: readonly StreamStats[];
  level: StatsLevel;
  /** frame rate of the launch; undefined: unknown */
  targetFps: number | undefined;
  onClose: () => void;
}) {
  const { history, level, targetFps } = props;
  const last = history.at(-1);
  if (level === 'dot' || last === undefined) return null;
  if (level === 'line') return <Line history={history} last={last} targetFps={targetFps} />;
  const graphs = (
    <>
      <MeasureGraph measure={FRAMES} history={history} last={last} least={targetFps ?? FRAMES.least} />
      <MeasureGraph measure={DELAY} history={history} last={last} />
    </>
  );
  if (level === 'graph') {
    return (
      <section className={styles.panel} aria-label={t('Statistics')} data-stream-overlay="">
        <div className={styles.graphs}>{graphs}</div>
      </section>
    );
  }
  return (
    <section className={styles.full} aria-label={t('Statistics')} data-stream-overlay="">
      <header className={styles.head}>
        <h2>{t('Statistics')}</h2>
        <ActionIcon aria-label={t('Close the statistics')} onClick={props.onClose}>
          <IconX size={20} />
        </ActionIcon>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by the keyboard */}
      <section className={styles.scroll} tabIndex={0} aria-label={t('Measurements')}>
        <Split split={newestSplit(history)} click={clickToPhoton(history)} />
        <div className={styles.graphs}>
          {graphs}
          {OTHERS.map((measure) => (
            <MeasureGraph key={measure.key} measure={measure} history={history} last={last} />
          ))}
        </div>
        <dl className={styles.facts}>
          {factsOf(last).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </section>
    </section>
  );
}

function Line(props: { history: readonly StreamStats[]; last: StreamStats; targetFps: number | undefined }) {
  const { history, last, targetFps } = props;
  const { quality } = last;
  const frames = framesShown(FRAMES.read(last), targetFps);
  // The line already says how many frames are missing.
  const isAboutFrames = quality.cause?.kind === 'few_frames' || quality.cause?.kind === 'few_arrive';
  const split = newestSplit(history);
  const costlyPath = costlyPathLabel(last.path);
  return (
    <p className={styles.line} data-stream-overlay="">
      <span className={styles.dot} data-quality={quality.word} aria-hidden="true" />
      <b>{t(QUALITY_LABELS[quality.word])}</b>
      {quality.cause !== null && !isAboutFrames && (
        <span className={styles.reason}>{causeLabel(quality.cause)}</span>
      )}
      <span>
        {targetFps === undefined
          ? t('{n} frames a second', { n: valueLabel(frames, '') })
          : t('{n} of {wanted} frames a second', { n: valueLabel(frames, ''), wanted: targetFps })}
      </span>
      <span>{t('delay {ms}', { ms: valueLabel(split?.total_ms ?? DELAY.read(last), 'ms') })}</span>
      {costlyPath !== null && <span>{costlyPath}</span>}
    </p>
  );
}

function MeasureGraph(props: {
  measure: Measure;
  history: readonly StreamStats[];
  last: StreamStats;
  least?: number;
}) {
  const { measure, history, last } = props;
  return (
    <Graph
      label={t(measure.label)}
      unit={measure.unit}
      now={valueLabel(measure.read(last), measure.unit)}
      values={history.map(measure.read)}
      least={props.least ?? measure.least}
    />
  );
}

/** The parts of a frame's delay as one bar, and the time from a press to the picture with its effect. */
function Split({ split, click }: { split: DelaySplit | null; click: number | undefined }) {
  return (
    <div className={styles.split}>
      <h3>
        {t('Where the delay comes from')} <b>{valueLabel(split?.total_ms, 'ms')}</b>
      </h3>
      {split !== null && (
        <svg className={styles.bar} viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
          {PARTS.map(({ key }, index) => {
            const before = PARTS.slice(0, index).reduce((sum, part) => sum + split[part.key], 0);
            const share = (ms: number) => (100 * ms) / Math.max(1, split.total_ms);
            return <rect key={key} data-part={key} x={share(before)} width={share(split[key])} height="6" />;
          })}
        </svg>
      )}
      <dl className={styles.parts}>
        {PARTS.map(({ key, label }) => (
          <div key={key}>
            <dt>
              <span className={styles.key} data-part={key} aria-hidden="true" />
              {t(label)}
            </dt>
            <dd>{valueLabel(split?.[key], 'ms')}</dd>
          </div>
        ))}
        <div>
          <dt>{t('Click to picture')}</dt>
          <dd>{click === undefined ? t('press a key or button') : valueLabel(click, 'ms')}</dd>
        </div>
      </dl>
      {split === null && <p>{t('The clocks of the host and this page are still being compared.')}</p>}
    </div>
  );
}
