import type { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext, Outlet } from '@tanstack/react-router';
import { RouteAnnouncer } from '../shell/route-announcer.tsx';

/** Values that every route may use. */
interface RouteContext {
  queryClient: QueryClient;
}

export const Route = createRootRouteWithContext<RouteContext>()({
  component: () => (
    <>
      <Outlet />
      <RouteAnnouncer />
    </>
  ),
});
