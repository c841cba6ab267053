import { createRootRouteWithContext, Outlet } from '@tanstack/react-router';
import type { RouteContext } from '../router.tsx';
import { RouteAnnouncer } from '../shell/route-announcer.tsx';

export const Route = createRootRouteWithContext<RouteContext>()({
  component: () => (
    <>
      <Outlet />
      <RouteAnnouncer />
    </>
  ),
});
