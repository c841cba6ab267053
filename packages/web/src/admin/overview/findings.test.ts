import { describe, expect, test } from 'vitest';
import { host, hosts } from '../../../test/fixtures.ts';
import { findingsHeadline, findingsOf } from './findings.ts';

describe('findings', () => {
  test('name failed checks with their remedy first, then offline hosts', () => {
    const findings = findingsOf(hosts, false);
    expect(findings.map((finding) => finding.key)).toEqual([
      `${hosts[1]?.id}:media_reachability`,
      `${hosts[2]?.id}:offline`,
    ]);
    expect(findings[0]?.remediation).toHaveLength(1);
    expect(findings[1]?.remediation).toContain('systemctl status footlight-agent');
    expect(findingsHeadline(findings)).toBe('2 things to fix');
  });

  test('report that no slot is left, which the headline counts as a note', () => {
    expect(findingsOf([], true).map((finding) => finding.key)).toEqual(['fleet:full']);
    expect(findingsHeadline(findingsOf([], true))).toBe('All is well, 1 note');
    expect(findingsHeadline(findingsOf(hosts, true))).toBe('2 things to fix, 1 note');
    expect(findingsHeadline([])).toBe('All is well');
  });

  test('show a check that does not prevent sessions as a warning, after the faults', () => {
    const check = (id: string) => ({ id, status: 'fail', summary: '', remediation: [] });
    const found = findingsOf(
      [host(1, { readiness: [check('input_devices'), check('encoder_probe')] })],
      false,
    );
    expect(found.map(({ key, tone }) => [key.split(':')[1], tone])).toEqual([
      ['encoder_probe', 'danger'],
      ['input_devices', 'warning'],
    ]);
  });

  test('explain why a host takes no sessions, and skip unknown results', () => {
    const odd = host(1, {
      capacity: null,
      capacity_detection: 'failed',
      capacity_reason: 'nvidia-smi timed out',
      readiness: [{ id: 'x', status: 'mystery', summary: '', remediation: [] }],
    });
    expect(findingsOf([odd], false)).toMatchObject([{ tone: 'danger', text: 'nvidia-smi timed out' }]);
  });
});
