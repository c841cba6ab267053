import { gcConfirmedSchema, gcPendingSchema } from '@footlight/protocol/agent';
import type { GcControl } from './home-collection.ts';

interface HttpCall {
  method: 'GET' | 'POST';
  /** Path below the control plane's address. */
  path: string;
  /** Sent as JSON; missing: no body. */
  body?: unknown;
}

/** The calls of the collection. An answer that is none of the contract's is none at all. */
export function gcCalls(call: (call: HttpCall) => Promise<{ status: number; body: unknown }>): GcControl {
  async function answered(request: HttpCall): Promise<unknown> {
    const { status, body } = await call(request);
    if (status !== 200) throw new Error(`the control plane answered ${status} to ${request.path}`);
    return body;
  }
  return {
    pending: async () =>
      gcPendingSchema.parse(await answered({ method: 'GET', path: '/v1/agent/storage/gc-pending' })),
    confirm: async (home_ids) =>
      gcConfirmedSchema.parse(
        await answered({ method: 'POST', path: '/v1/agent/storage/gc-confirm', body: { home_ids } }),
      ),
  };
}
