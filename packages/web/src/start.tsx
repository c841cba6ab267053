import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode, useMemo } from 'react';
import { createRoot } from 'react-dom/client';
import { onSignedOut } from './api/client.ts';
import { loginPath } from './api/next-path.ts';
import { createQueryClient } from './api/query-client.ts';
import { clock } from './clock.ts';
import { createAppRouter } from './router.tsx';
import { mantineTheme } from './theme/mantine-theme.ts';
import { resolveScheme, useScheme } from './theme/scheme.ts';
import { showChosenLanguage, useLanguage } from './words/language.ts';

const queryClient = createQueryClient();
const router = createAppRouter(queryClient);

/**
 * Puts the web app into the document, in the person's language. Both documents start it; the address decides which
 * pages they show.
 */
export async function start(): Promise<void> {
  document.documentElement.dataset.mantineColorScheme = resolveScheme();
  // A whole new document, so that nothing of the former person stays in memory.
  onSignedOut(() => {
    const { pathname, search } = window.location;
    if (!/^\/(login|register|reset|setup)(\/|$)/.test(pathname))
      window.location.assign(loginPath(pathname + search));
  });
  reloadOnceAfterAnUpdate();
  const root = document.getElementById('root');
  if (root === null) throw new Error('the document has no #root');
  await showChosenLanguage();
  createRoot(root).render(
    <StrictMode>
      <WebApp />
    </StrictMode>,
  );
}

function WebApp() {
  const scheme = useScheme();
  const language = useLanguage();
  // biome-ignore lint/correctness/useExhaustiveDependencies: its texts follow the language
  const theme = useMemo(mantineTheme, [language]);
  return (
    // Mantine's variables stand in theme/tokens.css and its visibility classes are not used: both would be style
    // elements, which the Content-Security-Policy forbids.
    <MantineProvider
      theme={theme}
      forceColorScheme={scheme}
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <QueryClientProvider client={queryClient}>
        <RouterProvider key={language} router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}

/**
 * A page that was open while the server was updated names files that are gone; a document of the administrators'
 * area also loses its files when the page cookie ends. One reload mends both; a second failure is shown.
 */
function reloadOnceAfterAnUpdate(): void {
  window.addEventListener('vite:preloadError', (event) => {
    const last = Number(sessionStorage.getItem('footlight.reloaded') ?? 0);
    if (clock.nowMs() - last < 30_000) return;
    sessionStorage.setItem('footlight.reloaded', String(clock.nowMs()));
    event.preventDefault();
    window.location.reload();
  });
}
