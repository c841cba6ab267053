import { createHmac, type KeyObject } from 'node:crypto';

/**
 * Header `webhook-signature` of one attempt. Pure.
 * @param seconds header `webhook-timestamp`, seconds since 1970
 * Source: Standard Webhooks 1.0, "Signature scheme".
 */
export function signatureOf(key: KeyObject, eventId: string, seconds: number, body: string): string {
  return `v1,${createHmac('sha256', key).update(`${eventId}.${seconds}.${body}`).digest('base64')}`;
}
