import { initialOf, type Poster, posterOf } from '../theme/poster.ts';

/** Drawing area of each shape, in units of the picture. */
const AREAS = { cover: { width: 200, height: 300 }, hero: { width: 480, height: 270 } } as const;
/** Position and size of the initial on a cover. */
const INITIAL = { x: 18, y: 283, size: 60 } as const;

/**
 * The generated picture of an app without artwork, as a `background-image`, so that the page has only one box for it.
 * As separate elements, the shapes and their round clip made the layers of a scrolled library three times as expensive
 * (docs/benches.md, "Scrolling 2,000 tiles").
 */
export function posterImage(app: { id: string; name: string }, shape: 'cover' | 'hero'): string {
  const design = posterOf(app.id);
  const { width, height } = AREAS[shape];
  const { x, y, size } = INITIAL;
  const initial =
    shape === 'cover'
      ? `<text x="${x}" y="${y}" font-family="system-ui,sans-serif" font-size="${size}" font-weight="600" fill="#fff">${initialOf(app.name)}</text>`
      : '';
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><path fill="${design.ground}" d="M0 0H${width}V${height}H0Z"/>${DRAWINGS[design.motif](design, width, height).join('')}${initial}</svg>`;
  return `url("data:image/svg+xml,${encodeURIComponent(svg)}")`;
}

/** The shapes of a motif as SVG elements, from the back to the front. */
type Drawing = (design: Poster, width: number, height: number) => string[];

/** A circle at the given position. */
const circle = (cx: number, cy: number, r: number, fill: string | undefined) =>
  `<circle cx="${cx}" cy="${cy}" r="${r}" fill="${fill}"/>`;

const DRAWINGS: Record<Poster['motif'], Drawing> = {
  rings({ back, middle, front, details: [x = 0, y = 0] }, width, height) {
    const cx = x < 0.5 ? width * 0.2 : width * 0.8;
    const cy = height * (0.25 + y * 0.5);
    return [0.95, 0.7, 0.48, 0.28, 0.12].map((part, at) =>
      circle(cx, cy, part * height * 0.62, [back, middle, back, front, back][at]),
    );
  },
  hills({ back, middle, front, details: [x = 0, a = 0, b = 0] }, width, height) {
    const hill = (level: number, bend: number, fill: string) =>
      `<path fill="${fill}" d="M0 ${height * level}C${width * 0.3} ${height * (level - bend)} ${width * 0.6} ${height * (level + bend)} ${width} ${height * (level - bend / 2)}V${height}H0Z"/>`;
    return [
      circle(width * (0.25 + x * 0.5), height * 0.34, height * 0.16, front),
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
      return `<path fill="${fill}" fill-opacity="0.75" d="M${foot - 5} ${height}L${aim - spread} 0H${aim + spread}L${foot + 5} ${height}Z"/>`;
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
      return `<path fill="${fill}" transform="translate(${x} ${y}) rotate(${turn} ${size / 2} ${size / 2})" d="M0 0H${size}A${size} ${size} 0 0 1 0 ${size}Z"/>`;
    });
  },
  bars({ back, middle, front, details }, width, height) {
    const across = width / 5;
    return [0, 1, 2, 3, 4].map((at) => {
      const tall = height * (0.3 + (details[at] ?? 0) * 0.6);
      const fill = [middle, back, front, back, middle][at];
      return `<path fill="${fill}" d="M${at * across} ${height}V${height - tall + across / 2}a${across / 2} ${across / 2} 0 0 1 ${across} 0V${height}Z"/>`;
    });
  },
  orbits({ back, middle, front, details: [turn = 0, place = 0] }, width, height) {
    const cx = width / 2;
    const cy = height / 2;
    const angle = place * Math.PI * 2;
    const rings = [0.34, 0.46, 0.58].map(
      (part) =>
        `<ellipse cx="${cx}" cy="${cy}" rx="${part * height}" ry="${part * height * 0.42}" fill="none" stroke="${back}" stroke-width="${height * 0.03}"/>`,
    );
    const moon = circle(
      cx + Math.cos(angle) * 0.46 * height,
      cy + Math.sin(angle) * 0.46 * height * 0.42,
      height * 0.05,
      front,
    );
    return [
      circle(cx, cy, height * 0.19, middle),
      `<g transform="rotate(${turn * 180} ${cx} ${cy})">${rings.join('')}${moon}</g>`,
    ];
  },
};
