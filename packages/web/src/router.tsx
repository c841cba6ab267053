import type { QueryClient } from '@tanstack/react-query';
import { createRouter } from '@tanstack/react-router';
import { NotFoundPage } from './components/not-found-page.tsx';
import { PageError } from './components/page-error.tsx';
import { routeTree } from './route-tree.gen.ts';

/** The router over all pages; each page's code is loaded when it is first needed. */
export function createAppRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    context: { queryClient },
    defaultPreload: 'intent',
    defaultPreloadStaleTime: 0,
    scrollRestoration: true,
    // Each way to the library leads to where the person was; other pages start at their top, except by going back.
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
