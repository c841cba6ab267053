import { RouterProvider } from '@tanstack/react-router';
import { createQueryClient } from './api/query-client.ts';
import { mount } from './mount.tsx';
import { createAppRouter } from './router.tsx';

/** Shows the page of the current URL. Both documents with a router start with it. */
export function start(): Promise<void> {
  const queryClient = createQueryClient();
  const router = createAppRouter(queryClient);
  // Loaded before rendering: a route that its provider loads is rendered in one long task, by an update of the router's
  // store.
  return mount(queryClient, <RouterProvider router={router} />, () => router.load());
}
