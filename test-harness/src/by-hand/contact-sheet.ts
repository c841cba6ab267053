import { writeFileSync } from 'node:fs';
import type { BrowserContext, Page } from 'playwright-core';
import { type Browser, startBrowser } from '../browser/chromium.ts';
import { signIn } from '../browser/sign-in.ts';

export interface SheetPage {
  name: string;
  /** Path of the page's URL. */
  path: string;
}

/** Sizes at which each page is shown, and the width of its picture on the sheet (pixels). */
const SIZES = [
  { width: 390, height: 844, scheme: 'dark', shownWidth: 150 },
  { width: 1366, height: 768, scheme: 'dark', shownWidth: 440 },
  { width: 1366, height: 768, scheme: 'light', shownWidth: 440 },
  { width: 1920, height: 1080, scheme: 'dark', shownWidth: 440 },
] as const;
const SHEET_WIDTH = 1_560;
/** JPEG quality: headings stay readable, and forty pages need a few megabytes. The value was chosen by eye. */
const QUALITY = 70;
/** Time limit for a page to become idle. Pictures load faster, and a page with live updates never becomes idle. */
const SETTLE_LIMIT_MS = 2_000;

type Row = readonly [name: string, pictures: readonly Buffer[]];

/** Every page at every size and in both schemes on one picture. Teardown: `close`. */
export class ContactSheet {
  readonly #browser: Browser;
  readonly #page: Page;
  readonly #url: string;
  readonly #rows: Row[] = [];

  /** @param url of the instance */
  static async open(url: string): Promise<ContactSheet> {
    const browser = await startBrowser();
    return new ContactSheet(browser, await browser.newPage(), url);
  }

  private constructor(browser: Browser, page: Page, url: string) {
    this.#browser = browser;
    this.#page = page;
    this.#url = url;
  }

  async show(pages: readonly SheetPage[]): Promise<void> {
    for (const { name, path } of pages)
      this.#rows.push([name, await picturesOf(this.#page, `${this.#url}${path}`)]);
  }

  /** Signs in as an administrator, whose view the following pages show. */
  async signIn(token: string): Promise<void> {
    await signIn(this.#page, token);
    // GET /v1/me sets the cookie that opens the administrators' documents.
    await this.#page.goto(`${this.#url}/login`);
    await this.#page.waitForURL('**/app');
  }

  /** @param file JPEG, replaced */
  write(file: string): Promise<void> {
    return writeSheet(this.#browser.context, this.#rows, file);
  }

  close(): Promise<void> {
    return this.#browser.close();
  }
}

async function picturesOf(page: Page, address: string): Promise<Buffer[]> {
  const pictures: Buffer[] = [];
  for (const { width, height, scheme } of SIZES) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
    await page.goto(address);
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' });
    await page.waitForLoadState('networkidle', { timeout: SETTLE_LIMIT_MS }).catch(() => undefined);
    pictures.push(await page.screenshot({ type: 'jpeg', quality: QUALITY }));
  }
  return pictures;
}

async function writeSheet(context: BrowserContext, rows: readonly Row[], file: string): Promise<void> {
  const page = await context.newPage();
  await page.setViewportSize({ width: SHEET_WIDTH, height: 800 });
  await page.setContent(
    '<style>body{margin:12px;background:#777;font:600 15px sans-serif}div{display:flex;gap:8px;align-items:start;margin:4px 0 20px}</style>',
  );
  for (const [name, pictures] of rows) {
    const shown = pictures.map((picture, n) => ({
      source: `data:image/jpeg;base64,${picture.toString('base64')}`,
      width: SIZES[n]?.shownWidth ?? 0,
    }));
    await page.evaluate(
      async ({ name, shown }) => {
        const title = document.createElement('h2');
        title.textContent = name;
        const row = document.createElement('div');
        for (const { source, width } of shown) {
          const picture = new Image(width);
          picture.src = source;
          await picture.decode();
          row.append(picture);
        }
        document.body.append(title, row);
      },
      { name, shown },
    );
  }
  writeFileSync(file, await page.screenshot({ type: 'jpeg', quality: QUALITY, fullPage: true }));
}
