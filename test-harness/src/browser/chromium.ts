import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { addEvidence } from '../evidence.ts';
import { PATIENCE_MS } from '../stack/program.ts';

/** Debian's program. */
export const CHROMIUM = '/usr/bin/chromium';

/** Disables background network traffic, the sandbox, which root cannot have, and the GPU. */
export const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
];

/** A page that does not render any more must not block the run; the picture is only additional evidence. */
const SCREENSHOT_LIMIT_MS = 10_000;

export interface Browser {
  readonly context: BrowserContext;
  newPage(): Promise<Page>;
  close(): Promise<void>;
}

/** Starts Chromium with a new empty profile. */
export async function startBrowser(
  viewport: { width: number; height: number } = { width: 1366, height: 768 },
  options: {
    colorScheme?: 'light' | 'dark';
    flags?: readonly string[];
    program?: string;
    /** a phone or tablet: touch input, and no mouse */
    touch?: boolean;
  } = {},
): Promise<Browser> {
  const profile = mkdtempSync(path.join(os.tmpdir(), 'footlight-browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: options.program ?? CHROMIUM,
    headless: true,
    args: [...FLAGS, ...(options.flags ?? [])],
    ignoreHTTPSErrors: true,
    viewport,
    colorScheme: options.colorScheme ?? 'dark',
    hasTouch: options.touch ?? false,
    isMobile: options.touch ?? false,
    env: { ...process.env, TMPDIR: profile } as Record<string, string>,
  });
  context.setDefaultTimeout(PATIENCE_MS);
  context.setDefaultNavigationTimeout(PATIENCE_MS);
  const leave = addEvidence(async (file) => {
    for (const [n, page] of context.pages().entries())
      await page.screenshot({ path: file(`page-${n + 1}.png`), timeout: SCREENSHOT_LIMIT_MS });
  });
  return {
    context,
    newPage: () => context.newPage(),
    async close() {
      leave();
      await context.close();
      rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}
