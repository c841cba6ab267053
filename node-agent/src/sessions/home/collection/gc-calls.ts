import { gcConfirmedSchema, gcPendingSchema } from '@footlight/protocol/agent';
import type { CallControl, HttpCall } from '../../../link/http-call.ts';
import type { GcControl } from './home-collection.ts';

/**
 * Longest answer in bytes. A list of a hundred homes with the longest paths has 60 KiB, or more if the paths need
 * escapes.
 */
const MAX_LIST_BYTES = 128 * 1024;

/** HTTP calls of the collection. An answer that does not match its schema counts as missing. */
export function gcCalls(call: CallControl): GcControl {
  async function answered(request: HttpCall): Promise<unknown> {
    const { status, body } = await call(request);
    if (status !== 200) throw new Error(`the control plane answered ${status} to ${request.path}`);
    return body;
  }
  return {
    pending: async (cursor) =>
      gcPendingSchema.parse(
        await answered({
          method: 'GET',
          path: '/v1/agent/storage/gc-pending',
          ...(cursor !== null && { query: { cursor } }),
          maxAnswerBytes: MAX_LIST_BYTES,
        }),
      ),
    confirm: async (home_ids) =>
      gcConfirmedSchema.parse(
        await answered({ method: 'POST', path: '/v1/agent/storage/gc-confirm', body: { home_ids } }),
      ),
  };
}
