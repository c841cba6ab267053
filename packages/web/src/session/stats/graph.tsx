import { localeTag, t } from '../../i18n/translate.ts';
import { pathOf, scaleOf } from './scale.ts';
import styles from './stats.module.css';

const WIDTH = 240;
const HEIGHT = 64;
/** Seconds of the axis. */
const SLOTS = 60;

/** One series of the last minute with its scale. The newest value is at the right edge. */
export function Graph(props: {
  label: string;
  unit: string;
  /** the newest value in words */
  now: string;
  values: readonly (number | undefined)[];
  /** upper end of the scale, if all values are smaller */
  least: number;
}) {
  const known = props.values.filter((value): value is number => value !== undefined);
  const marks = scaleOf(Math.max(props.least, ...known));
  const top = marks.at(-1) ?? 1;
  const height = (mark: number) => HEIGHT - (mark / top) * HEIGHT;
  return (
    <figure className={styles.graph}>
      <figcaption>
        {props.label} <b>{props.now}</b>
      </figcaption>
      <div className={styles.plot}>
        <div className={styles.marks} aria-hidden="true">
          {marks.map((mark) => (
            <span key={mark} style={{ top: `${(height(mark) / HEIGHT) * 100}%` }}>
              {mark.toLocaleString(localeTag())}
            </span>
          ))}
        </div>
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          {marks.map((mark) => (
            <path
              key={mark}
              d={`M0 ${height(mark)}H${WIDTH}`}
              stroke="currentColor"
              strokeOpacity={mark === 0 ? 0.4 : 0.14}
              vectorEffect="non-scaling-stroke"
            />
          ))}
          <path
            d={pathOf(props.values, { width: WIDTH, height: HEIGHT, slots: SLOTS, top })}
            fill="none"
            stroke="currentColor"
            strokeWidth="1.5"
            vectorEffect="non-scaling-stroke"
          />
        </svg>
      </div>
      <div className={styles.times} aria-hidden="true">
        <span>{props.unit}</span>
        <span>−60 s</span>
        <span>−30 s</span>
        <span>{t('now')}</span>
      </div>
    </figure>
  );
}
