import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** The rules of axe-core about colours. Source: axe-core, doc/rule-descriptions.md. */
export const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/** Length to which an element's text is shortened in a problem. */
const MAX_HTML = 160;

/**
 * The problems that axe-core finds on a page without frames. Each document loads axe-core once, because loading
 * axe-core takes a quarter of the time of a check.
 * @param rules only these; missing: the usual ones
 * @returns problems, each in the form `rule: element | element`
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

/**
 * Waits until no colour changes any more, because a colour in transition can have too little contrast. Runs in the
 * page.
 */
async function settled(): Promise<void> {
  // Ignores animations that follow scrolling, because they never end.
  const ends = ({ effect }: Animation) => Number.isFinite(effect?.getComputedTiming().endTime);
  for (let running = document.getAnimations().filter(ends); running.length > 0; ) {
    await Promise.allSettled(running.map(({ finished }) => finished));
    // An inherited colour changes one frame later in each nested element.
    await new Promise(requestAnimationFrame);
    running = document.getAnimations().filter(ends);
  }
}
