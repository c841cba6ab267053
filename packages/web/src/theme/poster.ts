/** Shapes of generated pictures. */
export const MOTIFS = ['rings', 'hills', 'beams', 'tiles', 'bars', 'orbits'] as const;

/** A generated picture: a motif, three tones of two hues, and random numbers for the details. */
export interface Poster {
  motif: (typeof MOTIFS)[number];
  /** CSS colours: the background, then the shapes from back to front */
  ground: string;
  back: string;
  middle: string;
  front: string;
  /** 0–1 each, the same for the same id */
  details: readonly number[];
}

/** Number of random values, enough for the five bars of the motif "bars". */
const DETAILS = 5;

/**
 * The picture of an app without artwork. It depends only on the app's id, so it is the same everywhere. It has two hues
 * that are 40 to 70 degrees apart; the background is dark enough for white text. Pure.
 * @param id the app's uuid in upper or lower case
 */
export function posterOf(id: string): Poster {
  const name = id.toLowerCase();
  const hash = hashOf(name);
  const hue = hash % 360;
  const spread = 40 + ((hash >>> 9) % 31);
  const other = (hue + ((hash >>> 15) & 1 ? spread : -spread) + 360) % 360;
  const details = Array.from({ length: DETAILS }, (_none, at) => (hashOf(`${at}:${name}`) % 1000) / 1000);
  return {
    motif: MOTIFS[(hash >>> 20) % MOTIFS.length] ?? 'rings',
    ground: `oklch(0.3 0.09 ${other})`,
    back: `oklch(0.4 0.12 ${other})`,
    middle: `oklch(0.52 0.15 ${hue})`,
    front: `oklch(0.68 0.16 ${hue})`,
    details,
  };
}

/**
 * The letter on a generated picture.
 * @param name the app's name; a blank one gives "·"
 */
export function initialOf(name: string): string {
  return /[\p{L}\p{N}]/u.exec(name)?.[0].toLocaleUpperCase() ?? '·';
}

/** FNV-1a over UTF-16 units with a final avalanche, so that similar ids differ in hue. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return (hash ^ (hash >>> 16)) >>> 0;
}
