import type { ReactNode } from 'react';
import { type Poster as Design, posterOf } from '../theme/poster.ts';
import styles from './components.module.css';

/** Drawing area by shape: units of the picture. */
const AREAS = { cover: { width: 200, height: 300 }, hero: { width: 480, height: 270 } } as const;

/** The generated picture of an app without artwork; it covers its frame. */
export function Poster({ id, shape }: { id: string; shape: 'cover' | 'hero' }) {
  const design = posterOf(id);
  const { width, height } = AREAS[shape];
  return (
    <svg
      className={styles.poster}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="xMidYMid slice"
      aria-hidden="true"
    >
      <rect width={width} height={height} fill={design.ground} />
      {DRAWINGS[design.motif](design, width, height)}
    </svg>
  );
}

type Drawing = (design: Design, width: number, height: number) => ReactNode;

const DRAWINGS: Record<Design['motif'], Drawing> = {
  rings({ back, middle, front, details: [x = 0, y = 0] }, width, height) {
    const centre = { cx: x < 0.5 ? width * 0.2 : width * 0.8, cy: height * (0.25 + y * 0.5) };
    return [0.95, 0.7, 0.48, 0.28, 0.12].map((part, at) => (
      <circle key={part} {...centre} r={part * height * 0.62} fill={[back, middle, back, front, back][at]} />
    ));
  },
  hills({ back, middle, front, details: [x = 0, a = 0, b = 0] }, width, height) {
    const hill = (level: number, bend: number, fill: string) => (
      <path
        key={level}
        fill={fill}
        d={`M0 ${height * level}C${width * 0.3} ${height * (level - bend)} ${width * 0.6} ${height * (level + bend)} ${width} ${height * (level - bend / 2)}V${height}H0Z`}
      />
    );
    return [
      <circle key="sun" cx={width * (0.25 + x * 0.5)} cy={height * 0.34} r={height * 0.16} fill={front} />,
      hill(0.52, 0.1 + a * 0.14, middle),
      hill(0.68, -0.08 - b * 0.12, back),
      hill(0.86, 0.08 + a * 0.08, `color-mix(in oklch, ${back}, #000 35%)`),
    ];
  },
  beams({ back, middle, front, details }, width, height) {
    return [back, middle, back, front].map((fill, at) => {
      const foot = width * (0.14 + at * 0.24);
      const aim = width * ((details[at] ?? 0) * 0.9 + 0.05);
      const spread = width * 0.16;
      return (
        <path
          key={foot}
          fill={fill}
          opacity={0.75}
          d={`M${foot - 5} ${height}L${aim - spread} 0H${aim + spread}L${foot + 5} ${height}Z`}
        />
      );
    });
  },
  tiles({ back, middle, front, details }, width, height) {
    const columns = width < height ? 4 : 6;
    const size = width / columns;
    const rows = Math.ceil(height / size);
    return Array.from({ length: columns * rows }, (_none, at) => {
      const detail = Math.floor((details[at % details.length] ?? 0) * 16 + at) % 16;
      const x = (at % columns) * size;
      const y = Math.floor(at / columns) * size;
      const turn = (detail % 4) * 90;
      const fill = [back, middle, front, back][detail >> 2];
      return (
        <path
          // biome-ignore lint/suspicious/noArrayIndexKey: the squares never change places
          key={at}
          fill={fill}
          transform={`translate(${x} ${y}) rotate(${turn} ${size / 2} ${size / 2})`}
          d={`M0 0H${size}A${size} ${size} 0 0 1 0 ${size}Z`}
        />
      );
    });
  },
  bars({ back, middle, front, details }, width, height) {
    const across = width / 5;
    return [0, 1, 2, 3, 4].map((at) => {
      const tall = height * (0.3 + (details[at] ?? 0) * 0.6);
      return (
        <path
          key={at}
          fill={[middle, back, front, back, middle][at]}
          d={`M${at * across} ${height}V${height - tall + across / 2}a${across / 2} ${across / 2} 0 0 1 ${across} 0V${height}Z`}
        />
      );
    });
  },
  orbits({ back, middle, front, details: [turn = 0, place = 0] }, width, height) {
    const cx = width / 2;
    const cy = height / 2;
    const angle = place * Math.PI * 2;
    const tilt = turn * 180;
    return [
      <circle key="planet" cx={cx} cy={cy} r={height * 0.19} fill={middle} />,
      ...[0.34, 0.46, 0.58].map((part) => (
        <ellipse
          key={part}
          cx={cx}
          cy={cy}
          rx={part * height}
          ry={part * height * 0.42}
          fill="none"
          stroke={back}
          strokeWidth={height * 0.03}
          transform={`rotate(${tilt} ${cx} ${cy})`}
        />
      )),
      <circle
        key="moon"
        cx={cx + Math.cos(angle) * 0.46 * height}
        cy={cy + Math.sin(angle) * 0.46 * height * 0.42}
        r={height * 0.05}
        fill={front}
        transform={`rotate(${tilt} ${cx} ${cy})`}
      />,
    ];
  },
};
