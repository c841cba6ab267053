import type { Success } from '@footlight/protocol/rest';
import { plural, t } from '../../i18n/translate.ts';
import type { Finding } from './findings.ts';

const HOUR_MS = 60 * 60 * 1_000;
/** A receiver may be away for some minutes, for example while it is upgraded. Events are dropped after three days. */
const STALE_MS = HOUR_MS / 2;

/** Whether the webhook has not confirmed events for long. Pure. @param status undefined: not read yet */
export function webhookFindings(
  status: Success<'admin.webhook.status'> | undefined,
  nowMs: number,
): Finding[] {
  if (status === undefined || status.oldest_at === null) return [];
  const ageMs = nowMs - Date.parse(status.oldest_at);
  if (ageMs < STALE_MS) return [];
  return [
    {
      key: 'webhook:fails',
      tone: 'warning',
      title: plural(status.waiting, '{n} event waits for the webhook', '{n} events wait for the webhook'),
      text: t('The receiver has not confirmed them. The log event webhook.failed has the reason.'),
      remediation: [],
      hostId: null,
    },
  ];
}
