import type { Page } from 'playwright-core';
import { coloursAt, isNear, type Rgb } from '../src/browser/picture.ts';
import { eventually, PATIENCE_MS } from '../src/stack/program.ts';

/** The Diagnostics picture: eight bars in the upper third. */
const BARS: Rgb[] = [
  [255, 255, 255],
  [255, 255, 0],
  [0, 255, 255],
  [0, 255, 0],
  [255, 0, 255],
  [255, 0, 0],
  [0, 0, 255],
  [0, 0, 0],
];
/**
 * Colours of the two fields under the bars. One changes to the next colour with every key press, the other with every
 * click.
 */
const FIELDS: Rgb[] = [
  [0x30, 0x30, 0x30],
  [0x00, 0xc0, 0x00],
  [0x00, 0x60, 0xff],
  [0xc0, 0x00, 0x00],
];
export const KEY_FIELD = [0.25, 0.85] as const;
export const CLICK_FIELD = [0.95, 0.95] as const;

/** Waits until the colour bars are in the decoded picture. */
export async function showsBars(page: Page): Promise<void> {
  const points = BARS.map((_, i) => [(i + 0.5) / 8, 0.15] as const);
  await eventually('the colour bars are in the decoded picture', PATIENCE_MS, async () => {
    const seen = await coloursAt(page, points);
    return BARS.every((bar, i) => isNear(seen[i], bar)) || null;
  });
}

/** Moves the pointer to the top edge, which shows the bar. */
export async function revealBar(page: Page): Promise<void> {
  await page.mouse.move(640, 300);
  await page.mouse.move(640, 1);
  await page.locator('[data-shown=true]').waitFor();
}

export async function fieldBecomes(
  page: Page,
  point: readonly [number, number],
  index: number,
): Promise<void> {
  await eventually(`the field takes colour ${index}`, PATIENCE_MS, async () => {
    const [seen] = await coloursAt(page, [point]);
    return isNear(seen, FIELDS[index] ?? [0, 0, 0]) || null;
  });
}
