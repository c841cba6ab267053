import { type OperationId, operations } from '@footlight/protocol/rest';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  Outlet,
  RouterProvider,
} from '@tanstack/react-router';
import { render } from '@testing-library/react';
import type { ReactNode } from 'react';
import { vi } from 'vitest';
import { adminOperationTable } from '../src/admin/frame/admin-operation-table.ts';
import { addOperations } from '../src/api/client.ts';
import './patience.ts';

/** A request as the fake service receives it. */
export interface Asked {
  id: OperationId;
  path: string;
  query: URLSearchParams;
  body: unknown;
}
/** Answers by operation: a body for 200, or a whole answer. */
export type Answers = { [Id in OperationId]?: (asked: Asked) => object | Response };

/** A refusal in the envelope of the service. */
export const refusal = (status: number, code: string, message: string, extras: object = {}): Response =>
  Response.json({ error: { code, message, ...extras } }, { status });

/**
 * Replaces `fetch` by the answers; an operation without an answer gets 404. The test restores `fetch`
 * with `vi.unstubAllGlobals`.
 * @returns requests so far, except those that read
 */
export function answerBy(answers: Answers): Asked[] {
  addOperations(adminOperationTable);
  const writes: Asked[] = [];
  vi.stubGlobal('fetch', async (address: string, init: RequestInit) => {
    const url = new URL(address, 'https://footlight.invalid');
    const operation = Object.values(operations).find(
      ({ method, path }) =>
        method === init.method && new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`).test(url.pathname),
    );
    if (operation === undefined) return refusal(404, 'not_found', 'There is no such path.');
    const asked: Asked = {
      id: operation.id as OperationId,
      path: decodeURIComponent(url.pathname),
      query: url.searchParams,
      body: typeof init.body === 'string' ? JSON.parse(init.body) : null,
    };
    if (init.method !== 'GET') writes.push(asked);
    const answer = answers[asked.id]?.(asked) ?? refusal(404, 'not_found', 'There is no such resource.');
    return answer instanceof Response ? answer.clone() : Response.json(answer);
  });
  return writes;
}

/** Renders an administrators' page in a router whose other pages are empty. */
export function showPage(page: ReactNode): void {
  const root = createRootRoute({ component: Outlet });
  const start = createRoute({ getParentRoute: () => root, path: '/', component: () => page });
  const other = createRoute({ getParentRoute: () => root, path: '$', component: () => null });
  const router = createRouter({
    routeTree: root.addChildren([start, other]),
    history: createMemoryHistory({ initialEntries: ['/'] }),
  });
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <Notifications />
        <RouterProvider router={router as never} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}
