import type { Page } from 'playwright-core';

/** The file with the German texts, as the build names it. */
const GERMAN = /\/assets\/de-[\w-]+\.js$/;
const OPEN = '⟦';
const CLOSE = '⟧';

/**
 * Puts marks around every German text of the pages, from the next document on, so that a test can find untranslated
 * text. The page must be shown in German.
 */
export async function markWords(page: Page): Promise<void> {
  await page.route(GERMAN, (route) =>
    route.fulfill({
      contentType: 'text/javascript',
      // The query makes the import a different module URL, which this route does not match.
      body: `import table from ${JSON.stringify(`${new URL(route.request().url()).pathname}?plain`)};
        const marked = (text) => '${OPEN}' + text + '${CLOSE}';
        const all = (value) => typeof value === 'string' ? marked(value)
          : Object.fromEntries(Object.entries(value).map(([form, text]) => [form, marked(text)]));
        export default Object.fromEntries(Object.entries(table).map(([key, value]) => [key, all(value)]));`,
    }),
  );
}

/**
 * Texts of the page that have letters outside of the marks, including names, descriptions and titles for screen
 * readers. Times, code, technical facts and names of languages do not count.
 * @param data words to ignore, such as names of apps
 */
export function unmarkedWords(page: Page, data: readonly string[]): Promise<string[]> {
  return page.evaluate(
    ([open, close, names]) => {
      const found = new Set<string>();
      const SIGNS = /\b(?:Footlight|ms|kB|MB|GB|TB|bytes|Mbit\/s|kbit\/s|px)\b/g;
      const judge = (text: string, where: string) => {
        let rest = text;
        for (const name of names) rest = rest.replaceAll(name, '');
        if (/\p{L}{2}/u.test(rest.replaceAll(SIGNS, ''))) found.add(`${where}: ${text.trim()}`);
      };
      /**
       * Removes the marked text. A mark may begin and end in different elements, because a sentence may span several
       * elements.
       */
      let depth = 0;
      const outside = (text: string) => {
        let kept = '';
        for (const sign of text) {
          if (sign === open) depth += 1;
          else if (sign === close) depth -= 1;
          else if (depth === 0) kept += sign;
        }
        return kept;
      };
      const isData = (element: Element | null) =>
        element?.closest(
          'script, style, noscript, code, pre, time, kbd, details dd, [lang]:not(html), [data-does]',
        ) != null;
      const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
        const rest = outside(node.nodeValue ?? '');
        if (!isData(node.parentElement)) judge(rest, node.parentElement?.tagName ?? '');
      }
      if (depth !== 0) found.add(`marks that are not balanced: ${depth}`);
      const ATTRIBUTES = ['aria-label', 'title', 'placeholder', 'alt', 'data-tip', 'aria-valuetext'];
      for (const element of document.body.querySelectorAll(ATTRIBUTES.map((name) => `[${name}]`).join())) {
        if (isData(element)) continue;
        for (const name of ATTRIBUTES) {
          depth = 0;
          judge(outside(element.getAttribute(name) ?? ''), `${element.tagName} ${name}`);
        }
      }
      depth = 0;
      judge(outside(document.title), 'title');
      return [...found];
    },
    [OPEN, CLOSE, [...data].sort((a, b) => b.length - a.length)] as const,
  );
}
