import { RouterProvider } from '@tanstack/react-router';
import { createQueryClient } from './api/query-client.ts';
import { clock } from './clock.ts';
import { mount } from './mount.tsx';
import { createAppRouter } from './router.tsx';

/** Shows the page of the current URL. The two documents with a router start here. */
export async function start(): Promise<void> {
  // The evaluation of the scripts and the first route are a task each, so that a slow phone can handle touches between
  // them.
  await new Promise<void>((resolve) => clock.setTimeout(resolve, 0));
  const queryClient = createQueryClient();
  const router = createAppRouter(queryClient);
  // Loads the route before rendering. If the router's provider loaded the route, an update of the router's store would
  // render it in one long task.
  return mount(queryClient, <RouterProvider router={router} />, () => router.load());
}
