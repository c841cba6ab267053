import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** The rules of axe-core about colours. Source: axe-core, doc/rule-descriptions.md. */
export const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/** Length to which an element's text is shortened in a problem. */
const MAX_HTML = 160;

/**
 * The problems that axe-core finds on a page without frames. Each document loads axe-core once, because loading it took
 * a quarter of the time of each run.
 * @param rules only these; missing: the usual ones
 * @returns `rule: element | element` each
 */
export async function accessibilityProblems(page: Page, rules?: readonly string[]): Promise<string[]> {
  await page.evaluate(settled);
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    (options) => (window as unknown as { axe: typeof axe }).axe.run(document, options),
    {
      resultTypes: ['violations'],
      // Style sheets are not fetched again, because none of the used rules reads them.
      preload: false,
      ...(rules === undefined ? {} : { runOnly: [...rules] }),
    } satisfies axe.RunOptions,
  );
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, MAX_HTML)).join(' | ')}`,
  );
}

/** Waits until no colour changes any more: one in transition can have too little contrast. Runs in the page. */
async function settled(): Promise<void> {
  // Animations that follow scrolling have no end in time.
  const ends = ({ effect }: Animation) => Number.isFinite(effect?.getComputedTiming().endTime);
  for (let running = document.getAnimations().filter(ends); running.length > 0; ) {
    await Promise.allSettled(running.map(({ finished }) => finished));
    // A change of colour begins one frame later in each element below.
    await new Promise(requestAnimationFrame);
    running = document.getAnimations().filter(ends);
  }
}
