import { ADVISORY_CHECKS } from '@footlight/protocol/readiness';
import type { Host } from '@footlight/protocol/rest';
import { plural, t } from '../../i18n/translate.ts';
import { checkName, checkSentence } from '../fleet/readiness-labels.ts';

/** A fault of the fleet that an administrator has to repair. */
export interface Finding {
  key: string;
  tone: 'danger' | 'warning' | 'info';
  title: string;
  text: string;
  remediation: readonly string[];
  hostId: string | null;
  /** The page of the job, image or backups, if the finding is not about a host. */
  link?:
    | { to: '/admin/jobs/$id' | '/admin/images/$id'; id: string; label: string }
    | { to: '/admin/backups'; label: string };
}

/**
 * Problems of the hosts, worst first: offline hosts, unknown capacity, failed readiness checks, and no free slot. Pure.
 * Readiness results that this page does not know are shown only on the host's page.
 * @param full sessions hold every slot of the fleet
 */
export function findingsOf(hosts: readonly Host[], full: boolean): Finding[] {
  const found: Finding[] = [];
  for (const host of hosts) {
    const about = { hostId: host.id, remediation: [] as readonly string[] };
    if (host.status === 'offline') {
      found.push({ ...offlineFinding(host), hostId: host.id });
      // The last report of an offline host may be outdated, so its checks are skipped.
      continue;
    }
    if (host.capacity_detection !== 'ok') {
      found.push({
        ...about,
        key: `${host.id}:capacity`,
        tone: host.capacity_detection === 'failed' ? 'danger' : 'warning',
        title: t('{host} takes no sessions', { host: host.node_name }),
        text: host.capacity_reason ?? t('Its hardware has not been reported.'),
      });
    }
    for (const check of host.readiness ?? []) {
      if (check.status !== 'fail') continue;
      found.push({
        ...about,
        key: `${host.id}:${check.id}`,
        tone: ADVISORY_CHECKS.has(check.id) ? 'warning' : 'danger',
        title: `${host.node_name}: ${checkName(check.id)}`,
        text: checkSentence(check.summary),
        remediation: check.remediation.map(checkSentence),
      });
    }
  }
  if (full) {
    found.push({
      key: 'fleet:full',
      tone: 'info',
      title: t('Every slot is taken'),
      text: t('The next launch is refused until a session ends.'),
      remediation: [],
      hostId: null,
    });
  }
  return worstFirst(found);
}

/** An offline host, with what to check on it. Source: docs/troubleshooting.md, "A host is offline or not ready". */
export function offlineFinding(host: Pick<Host, 'id' | 'node_name'>): Finding {
  return {
    key: `${host.id}:offline`,
    tone: 'warning',
    title: t('{host} is offline', { host: host.node_name }),
    text: t('Its agent is not connected. Sessions on it continue while the service waits for it.'),
    remediation: [
      t('Check that the machine runs, and that it reaches the address of this service. On the host:'),
      'systemctl status footlight-agent',
      t('The log of the agent says why it does not connect; docs/troubleshooting.md explains its messages.'),
    ],
    hostId: null,
  };
}

const ORDER = { danger: 0, warning: 1, info: 2 };

/** Findings sorted by severity. Findings of the same severity keep their order. */
export const worstFirst = (findings: readonly Finding[]): Finding[] =>
  [...findings].sort((a, b) => ORDER[a.tone] - ORDER[b.tone]);

/** The findings summarized as a headline, which counts the findings that need no repair separately. */
export function findingsHeadline(findings: readonly Finding[]): string {
  const notes = findings.filter((finding) => finding.tone === 'info').length;
  const faults = findings.length - notes;
  const headline = faults === 0 ? t('All is well') : plural(faults, '{n} thing to fix', '{n} things to fix');
  return notes === 0 ? headline : `${headline}, ${plural(notes, '{n} note', '{n} notes')}`;
}
