import type { Host, Session } from '@footlight/protocol/rest';
import { StateChip, type Tone } from '../../components/state-chip.tsx';
import { msg, t } from '../../i18n/translate.ts';

const HOST: Record<Host['status'], [Tone, string]> = {
  online: ['success', msg('Online')],
  draining: ['warning', msg('Draining')],
  offline: ['neutral', msg('Offline')],
};

/** A host's status as a chip. */
export function HostChip({ host }: { host: Pick<Host, 'status'> }) {
  const [tone, label] = HOST[host.status];
  return <StateChip tone={tone}>{t(label)}</StateChip>;
}

const SESSION: Record<Session['state'], [Tone, string]> = {
  pending: ['info', msg('Pending')],
  assigned: ['info', msg('Assigned')],
  starting: ['info', msg('Starting')],
  running: ['success', msg('Running')],
  stopping: ['neutral', msg('Stopping')],
  stopped: ['neutral', msg('Stopped')],
  failed: ['danger', msg('Failed')],
};

/** A session's state as a chip. */
export function SessionChip({ session }: { session: Pick<Session, 'state'> }) {
  const [tone, label] = SESSION[session.state];
  return <StateChip tone={tone}>{t(label)}</StateChip>;
}

/** Result of a readiness check. A result that this page does not know is shown unchanged. */
export function CheckChip({ status }: { status: string }) {
  const known: Record<string, [Tone, string]> = {
    pass: ['success', t('Passed')],
    fail: ['danger', t('Failed')],
    skip: ['neutral', t('Does not apply')],
    unknown: ['warning', t('Not known')],
  };
  // Reads only own members of the object, because a host may send "constructor".
  const [tone, label] = (Object.hasOwn(known, status) ? known[status] : null) ?? ['info', status];
  return <StateChip tone={tone}>{label}</StateChip>;
}
