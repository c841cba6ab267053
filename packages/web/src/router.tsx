import type { QueryClient } from '@tanstack/react-query';
import { createRouter } from '@tanstack/react-router';
import { NotFoundPage } from './components/not-found-page.tsx';
import { PageError } from './components/page-error.tsx';
import { routeTree } from './route-tree.gen.ts';

/** The router of all pages; each page's code is loaded when it is first needed. */
export function createAppRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    context: { queryClient },
    defaultPreload: 'intent',
    defaultPreloadStaleTime: 0,
    scrollRestoration: true,
    // The library always keeps its scroll position. Other pages start at the top, except when the person goes back.
    getScrollRestorationKey: ({ pathname, state }) =>
      pathname === '/app' ? pathname : (state.__TSR_key ?? pathname),
    defaultNotFoundComponent: NotFoundPage,
    defaultErrorComponent: PageError,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
