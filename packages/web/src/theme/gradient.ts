/** Colours and direction of an app's generated picture, as CSS values. */
export interface Gradient {
  from: string;
  to: string;
  glow: string;
  angle: string;
}

/**
 * The picture of an app without artwork, derived from its id only, so that it is the same everywhere. Two hues 40 to
 * 70 degrees apart; lightness is at most 0.42, so that white text has a contrast above 4.5:1 at every hue (WCAG 2.1,
 * 1.4.3).
 * @param id the app's uuid in upper or lower case
 */
export function gradientOf(id: string): Gradient {
  const hash = fnv1a(id.toLowerCase());
  const hue = hash % 360;
  const spread = 40 + ((hash >>> 9) % 31);
  const turn = (hash >>> 15) & 1 ? spread : -spread;
  const other = (hue + turn + 360) % 360;
  const angle = 125 + ((hash >>> 17) % 50);
  return {
    from: `oklch(0.4 0.1 ${hue})`,
    to: `oklch(0.24 0.075 ${other})`,
    glow: `oklch(0.42 0.11 ${(hue + turn / 2 + 360) % 360})`,
    angle: `${angle}deg`,
  };
}

/**
 * One or two letters for a generated picture.
 * @param name the app's name; a blank one gives "·"
 */
export function initialsOf(name: string): string {
  const words = name.split(/[\s\-_:./]+/u).filter((word) => /[\p{L}\p{N}]/u.test(word));
  const letters = words.slice(0, 2).map((word) => [...word.replace(/^[^\p{L}\p{N}]+/u, '')][0] ?? '');
  return letters.join('').toLocaleUpperCase() || '·';
}

/** FNV-1a over UTF-16 units with a final avalanche, so that similar ids differ in hue. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return (hash ^ (hash >>> 16)) >>> 0;
}
