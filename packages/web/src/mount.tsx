import { MantineProvider } from '@mantine/core';
import { type QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { type ReactNode, StrictMode, startTransition, useMemo } from 'react';
import { createRoot } from 'react-dom/client';
import { openLogin } from './account/sign-out.ts';
import { onPersonLeft } from './api/auth-store.ts';
import { onSignedOut } from './api/client.ts';
import { loginPath } from './api/next-path.ts';
import { ServerNotice } from './api/server-notice.tsx';
import { clock } from './clock.ts';
import { showChosenLanguage, useLanguage } from './i18n/language.ts';
import { t } from './i18n/translate.ts';
import { mantineTheme } from './theme/mantine-theme.ts';
import { resolveScheme, useScheme } from './theme/scheme.ts';

/** After this time, a page without its first data says that it waits. Chosen, not measured. */
const WAITING_AFTER_MS = 1_000;

/**
 * Renders pages into the document, in the person's language and colours. A change of the language renders everything
 * again.
 * @param queryClient the cache of the whole document
 * @param load loads the data that the first page needs before it is drawn
 */
export async function mount(
  queryClient: QueryClient,
  pages: ReactNode,
  load: () => Promise<void> = async () => {},
): Promise<void> {
  document.documentElement.dataset.mantineColorScheme = resolveScheme();
  // Opens a new document, so that no data of the signed-out person stays in memory.
  onSignedOut(() => {
    const { pathname, search } = window.location;
    if (!isPublic(pathname)) window.location.assign(loginPath(pathname + search));
  });
  onPersonLeft(() => {
    if (!isPublic(window.location.pathname)) openLogin();
  });
  reloadOnceAfterAnUpdate();
  const root = document.getElementById('root');
  if (root === null) throw new Error('the document has no #root');
  const waiting = clock.setTimeout(() => root.replaceChildren(waitingText()), WAITING_AFTER_MS);
  await Promise.all([showChosenLanguage(), load()]).finally(() => waiting.cancel());
  // React's first commit removes what #root contained before. A transition is rendered in slices, so that a slow phone
  // can handle touches between the slices.
  startTransition(() =>
    createRoot(root).render(
      <StrictMode>
        <WebApp queryClient={queryClient}>{pages}</WebApp>
      </StrictMode>,
    ),
  );
}

/** Whether the page needs no account. A guest stays when an account signs out in another tab of the browser. */
const isPublic = (pathname: string): boolean => /^\/(login|register|setup|reset|join)(\/|$)/.test(pathname);

/** Without it the document would stay blank until the server answers. */
function waitingText(): HTMLElement {
  const text = document.createElement('p');
  text.role = 'status';
  text.className = 'waiting';
  text.textContent = t('Waiting for the server');
  return text;
}

function WebApp({ queryClient, children }: { queryClient: QueryClient; children: ReactNode }) {
  const scheme = useScheme();
  const language = useLanguage();
  // biome-ignore lint/correctness/useExhaustiveDependencies: its texts follow the language
  const theme = useMemo(mantineTheme, [language]);
  return (
    // Mantine's variables are in theme/tokens.css, and its visibility classes are not used. Otherwise Mantine would add
    // style elements, which the Content-Security-Policy forbids.
    <MantineProvider
      theme={theme}
      forceColorScheme={scheme}
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <QueryClientProvider key={language} client={queryClient}>
        {children}
        <ServerNotice />
      </QueryClientProvider>
    </MantineProvider>
  );
}

/**
 * Reloads the page once if its files cannot be loaded. After a server update, a page that was open before refers to
 * deleted files. A document of the administrators' area cannot load its files after its cookie has expired. If the
 * files are missing again after the reload, the page shows an error.
 */
function reloadOnceAfterAnUpdate(): void {
  window.addEventListener('vite:preloadError', (event) => {
    // Without a network the reload would fail too, and would also end a live picture.
    if (!navigator.onLine) return;
    const last = Number(sessionStorage.getItem('footlight.reloaded') ?? 0);
    if (clock.nowMs() - last < 30_000) return;
    sessionStorage.setItem('footlight.reloaded', String(clock.nowMs()));
    event.preventDefault();
    window.location.reload();
  });
}
