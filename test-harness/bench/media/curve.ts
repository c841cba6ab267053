/** SVG chart of a path's throughput over time. */

export interface Curve {
  readonly name: string;
  readonly colour: string;
  /** Seconds from the start, kbit/s. */
  readonly points: readonly (readonly [number, number])[];
  /** Step function: each value holds until the next. */
  readonly stepped?: boolean;
}

const WIDTH = 1200;
const HEIGHT = 420;
const MARGIN = { left: 70, right: 20, top: 50, bottom: 45 };

export function drawCurves(
  title: string,
  curves: readonly Curve[],
  seconds: number,
  topKbps: number,
): string {
  const x = (s: number) => MARGIN.left + (s / seconds) * (WIDTH - MARGIN.left - MARGIN.right);
  const y = (kbps: number) =>
    HEIGHT - MARGIN.bottom - (Math.min(kbps, topKbps) / topKbps) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const text = (left: number, top: number, words: string, extra = '') =>
    `<text x="${left}" y="${top}" font-size="13" fill="#333" ${extra}>${words}</text>`;
  const grid = Array.from({ length: Math.floor(topKbps / 1000) + 1 }, (_, i) => i * 1000).map(
    (kbps) =>
      `<line x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${y(kbps)}" y2="${y(kbps)}" stroke="#ddd"/>` +
      text(MARGIN.left - 8, y(kbps) + 4, `${kbps / 1000}`, 'text-anchor="end"'),
  );
  const ticks = Array.from({ length: Math.floor(seconds / 5) + 1 }, (_, i) => i * 5).map((s) =>
    text(x(s), HEIGHT - MARGIN.bottom + 18, `${s} s`, 'text-anchor="middle"'),
  );
  const lines = curves.map(({ points, colour, stepped }) => {
    const path = points.map(([s, kbps], i) => {
      const at = `${x(s).toFixed(1)},${y(kbps).toFixed(1)}`;
      const before = points[i - 1];
      return before && stepped ? `${x(s).toFixed(1)},${y(before[1]).toFixed(1)} ${at}` : at;
    });
    return `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${path.join(' ')}"/>`;
  });
  const legend = curves.map(({ name, colour }, i) =>
    text(MARGIN.left + i * 190, 38, `<tspan fill="${colour}">■</tspan> ${name}`),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>`,
    text(MARGIN.left, 20, `${title} (Mbit/s)`, 'font-weight="bold"'),
    ...grid,
    ...ticks,
    ...lines,
    ...legend,
    '</svg>',
    '',
  ].join('\n');
}
