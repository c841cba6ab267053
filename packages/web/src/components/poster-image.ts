import { type Poster, posterOf } from '../theme/poster.ts';

/** Shapes of pictures. */
type Shape = 'cover' | 'hero';

/** Height of each shape, if its width is 100. */
const HEIGHTS: Readonly<Record<Shape, number>> = { cover: 150, hero: 56.25 };

/**
 * The generated picture of an app without artwork, as a CSS `background`, so that the page has only one box for it.
 * Gradients, because with one SVG image for each of 20 tiles, computing their styles took 30 ms of processor time. With
 * gradients it takes 3 ms.
 */
export function posterImage(id: string, shape: Shape): string {
  const design = posterOf(id);
  return [...DRAWINGS[design.motif](design, HEIGHTS[shape]), design.ground].join(', ');
}

/**
 * The shapes of a motif as layers of a background, from the front to the back.
 * @param height height of the picture, if its width is 100
 */
type Drawing = (design: Poster, height: number) => string[];

/** A circle. Positions in percent of the picture, the radius in percent of its width. The edge is 1 % soft. */
const circle = (x: number, y: number, radius: number, height: number, fill: string | undefined) =>
  ellipse(x, y, radius, (radius / height) * 100, fill);

const ellipse = (x: number, y: number, rx: number, ry: number, fill: string | undefined) =>
  `radial-gradient(${rx}% ${ry}% at ${x}% ${y}%, ${fill} 99%, transparent)`;

const DRAWINGS: Record<Poster['motif'], Drawing> = {
  rings({ back, middle, front, details: [x = 0, y = 0] }, height) {
    const radius = 0.62 * height;
    return [0.12, 0.28, 0.48, 0.7, 0.95].map((part, at) =>
      circle(x < 0.5 ? 20 : 80, 25 + y * 50, part * radius, height, [back, front, back, middle, back][at]),
    );
  },
  hills({ ground, back, middle, front, details: [x = 0, a = 0, b = 0] }, height) {
    return [
      ellipse(20 + a * 60, 130, 110, 42 + b * 6, `color-mix(in oklch, ${back}, #000 35%)`),
      ellipse(85 - a * 70, 120, 100, 50 + a * 8, back),
      ellipse(10 + b * 80, 110, 90, 56 + b * 8, middle),
      circle(25 + x * 50, 34, 0.16 * height, height, front),
      `linear-gradient(${ground}, color-mix(in oklch, ${ground}, ${back}))`,
    ];
  },
  beams({ back, middle, front, details }) {
    return [front, back, middle, back].map((fill, at) => {
      const foot = 86 - at * 24;
      const aim = ((details[at] ?? 0) - 0.5) * 50 + (50 - foot) * 0.4;
      const light = `color-mix(in oklch, ${fill} 75%, transparent)`;
      return `conic-gradient(from ${aim - 8}deg at ${foot}% 103%, transparent, ${light} 0.3deg 16deg, transparent 16.3deg)`;
    });
  },
  tiles({ back, middle, front, details: [corner = 0, x = 0, y = 0] }, height) {
    const columns = height > 100 ? 4 : 6;
    const rows = height > 100 ? 6 : 3;
    const [near, far] = corner < 0.5 ? ['0 0', '100% 100%'] : ['100% 0', '0 100%'];
    const quarter = (at: string | undefined, fill: string, cells: number, place: string) =>
      `radial-gradient(100% 100% at ${at}, ${fill} 99%, transparent) ${place} / ${(cells * 100) / columns}% ${(cells * 100) / rows}%`;
    const column = Math.floor(x * (columns - 1)) / (columns - 2);
    const row = Math.floor(y * (rows - 1)) / (rows - 2);
    return [
      `${quarter(far, front, 2, `${column * 100}% ${row * 100}%`)} no-repeat`,
      quarter(near, middle, 1, '0 0'),
      quarter(far, back, 2, '0 0'),
    ];
  },
  bars({ back, middle, front, details }, height) {
    const cap = (10 / height) * 100;
    return [0, 1, 2, 3, 4].flatMap((at) => {
      const tall = 30 + (details[at] ?? 0) * 50;
      const fill = [middle, back, front, back, middle][at];
      const x = at * 25;
      const top = ((100 - tall - cap) / (100 - cap)) * 100;
      return [
        `radial-gradient(50% 100% at 50% 100%, ${fill} 97%, transparent) ${x}% ${top}% / 20% ${cap}% no-repeat`,
        // 1 % higher, so that rounding leaves no gap below the round end.
        `linear-gradient(${fill} 0 0) ${x}% 100% / 20% ${tall + 1}% no-repeat`,
      ];
    });
  },
  orbits({ back, middle, front, details: [turn = 0, place = 0] }, height) {
    const unit = Math.min(height, 100);
    const flat = (0.3 + turn * 0.4) / (height / 100);
    const angle = place * Math.PI * 2;
    const far = 0.46 * unit;
    return [
      circle(50 + Math.cos(angle) * far, 50 + Math.sin(angle) * far * flat, 0.05 * unit, height, front),
      circle(50, 50, 0.19 * unit, height, middle),
      ...[0.34, 0.46, 0.58].map((part) => {
        const inner = 100 - 3 / part;
        return `radial-gradient(${part * unit}% ${part * unit * flat}% at 50% 50%, transparent ${inner - 0.7}%, ${back} ${inner}% 99%, transparent)`;
      }),
    ];
  },
};
