import { ADVISORY_CHECKS } from '@footlight/protocol/readiness';
import type { Host, Session } from '@footlight/protocol/rest';
import { StateChip, type Tone } from '../../components/state-chip.tsx';
import { msg, plural, t } from '../../i18n/translate.ts';

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

/** What a connected host lacks, as a chip: its capacity, or readiness checks that failed. */
export function HostFaultChip({ host }: { host: Host }) {
  // The last report of an offline host may be outdated.
  if (host.status === 'offline') return null;
  if (host.capacity_detection !== 'ok') {
    const tone = host.capacity_detection === 'failed' ? 'danger' : 'warning';
    return <StateChip tone={tone}>{t('No capacity')}</StateChip>;
  }
  const failed = (host.readiness ?? []).filter(({ status }) => status === 'fail');
  if (failed.length === 0) return null;
  return (
    <StateChip tone={failed.every(({ id }) => ADVISORY_CHECKS.has(id)) ? 'warning' : 'danger'}>
      {plural(failed.length, '{n} check failed', '{n} checks failed')}
    </StateChip>
  );
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

/**
 * A session's state as a chip. A running session on an offline host is a warning.
 * @param props.hostStatus undefined: not known, or the session has no host
 */
export function SessionChip(props: {
  session: Pick<Session, 'state'>;
  hostStatus: Host['status'] | undefined;
}) {
  const { session, hostStatus } = props;
  const [tone, label] = SESSION[session.state];
  if (session.state === 'running' && hostStatus === 'offline')
    return (
      <StateChip tone="warning" title={t('Its host is offline')}>
        {t(label)}
      </StateChip>
    );
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
