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
