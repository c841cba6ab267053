import type { Host, Session } from '@footlight/protocol/rest';
import { StateChip, type Tone } from '../../components/state-chip.tsx';

const HOST: Record<Host['status'], [Tone, string]> = {
  online: ['success', 'Online'],
  draining: ['warning', 'Draining'],
  offline: ['neutral', 'Offline'],
};

/** A host's status as a chip. */
export function HostChip({ host }: { host: Pick<Host, 'status'> }) {
  const [tone, label] = HOST[host.status];
  return <StateChip tone={tone}>{label}</StateChip>;
}

const SESSION: Record<Session['state'], [Tone, string]> = {
  pending: ['info', 'Pending'],
  assigned: ['info', 'Assigned'],
  starting: ['info', 'Starting'],
  running: ['success', 'Running'],
  stopping: ['neutral', 'Stopping'],
  stopped: ['neutral', 'Stopped'],
  failed: ['danger', 'Failed'],
};

/** A session's state as a chip. */
export function SessionChip({ session }: { session: Pick<Session, 'state'> }) {
  const [tone, label] = SESSION[session.state];
  return <StateChip tone={tone}>{label}</StateChip>;
}

/** Result of a readiness check. A result that this page does not know is shown unchanged. */
export function CheckChip({ status }: { status: string }) {
  const known: Record<string, [Tone, string]> = {
    pass: ['success', 'Passed'],
    fail: ['danger', 'Failed'],
    skip: ['neutral', 'Does not apply'],
    unknown: ['warning', 'Not known'],
  };
  // Reads only own members of the object, because a host may send "constructor".
  const [tone, label] = (Object.hasOwn(known, status) ? known[status] : null) ?? ['info', status];
  return <StateChip tone={tone}>{label}</StateChip>;
}
