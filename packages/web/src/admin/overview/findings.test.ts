import { describe, expect, test } from 'vitest';
import { host, hosts } from '../../../test/fixtures.ts';
import { findingsHeadline, findingsOf } from './findings.ts';

describe('findings', () => {
  test('name failed checks with their remedy first, then offline hosts', () => {
    const findings = findingsOf(hosts);
    expect(findings.map((finding) => finding.key)).toEqual([
      `${hosts[1]?.id}:media_reachability`,
      `${hosts[2]?.id}:offline`,
    ]);
    expect(findings[0]?.remediation).toHaveLength(1);
    expect(findingsHeadline(findings)).toBe('2 things to fix');
  });

  test('report that no slot is left, and that no action is needed', () => {
    const full = host(1, {
      capacity: {
        slots_total: 2,
        slots_used: 2,
        vram_mb_total: 0,
        vram_mb_used: 0,
        active_sessions: 2,
        gpu_count: 1,
      },
    });
    expect(findingsOf([full]).map((finding) => finding.key)).toEqual(['fleet:full']);
    expect(findingsHeadline(findingsOf([full]))).toBe('All is well');
  });

  test('show a check that does not prevent sessions as a warning, after the faults', () => {
    const check = (id: string) => ({ id, status: 'fail', summary: '', remediation: [] });
    const found = findingsOf([host(1, { readiness: [check('input_devices'), check('encoder_probe')] })]);
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
    expect(findingsOf([odd])).toMatchObject([{ tone: 'danger', text: 'nvidia-smi timed out' }]);
  });
});
