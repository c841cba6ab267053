import type { Page } from 'playwright-core';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { framesShown } from '../../src/browser/picture.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { eventually } from '../../src/stack/program.ts';
import { PersonSessions } from '../../src/stack/sessions.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';
import { type NamespacePath, openNamespacePath } from './slow-path.ts';

/** A running session, shown by a browser behind a network path that a test slows down or interrupts. */
export interface SessionOnPath {
  network: NamespacePath;
  page: Page;
  close(): Promise<void>;
}

/**
 * Starts a service, an app and a browser; pages and picture use the path. When the function returns, the page shows
 * frames.
 * @param make the app, and the stream to launch it with
 * @throws when the machine allows no network namespace; everything started is stopped
 */
export async function openSessionOnPath(
  make: (sessions: PersonSessions, stack: Stack) => Promise<{ app: string; stream: object }>,
): Promise<SessionOnPath> {
  const network = openNamespacePath();
  if (network === null) throw new Error('this machine allows no network namespace');
  let stack: Stack | undefined;
  let sessions: PersonSessions | undefined;
  let browser: Browser | undefined;
  const close = async () => {
    await browser?.close();
    await sessions?.close();
    await stack?.stop();
    network.close();
  };
  try {
    stack = await startStack({ apps: [], agentEnv: { SERVICE_ENCODE_SLOTS: '2' } });
    const { token } = await stack.claim();
    sessions = new PersonSessions(stack, token);
    const { app, stream } = await make(sessions, stack);
    const { id } = await sessions.launch(app, stream);
    await sessions.reaches(id, 'app presented', 60_000);
    browser = await startBrowser({ width: 960, height: 640 }, { program: network.browserProgram });
    const page = await browser.newPage();
    await signIn(page, token);
    await page.goto(`https://${network.address}:${new URL(stack.httpsUrl).port}/app/session/${id}`);
    await eventually('frames are shown', 30_000, async () => (await framesShown(page)) > 5 || null);
    return { network, page, close };
  } catch (error) {
    await close();
    throw error;
  }
}
