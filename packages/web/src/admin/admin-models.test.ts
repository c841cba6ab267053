import { describe, expect, test } from 'vitest';
import { accessCheck, app, host, hosts } from '../../test/fixtures.ts';
import { parseSessionSearch } from '../routes/-session-search.ts';
import { appRules, bodyOf, formOf, NEW_APP } from './apps/app-form-model.ts';
import { findingsHeadline, findingsOf } from './overview/findings.ts';
import { verdictsOf } from './setup/setup-access-step.tsx';

describe('findings', () => {
  test('name failed checks with their remedy first, then hosts that are away', () => {
    const findings = findingsOf(hosts);
    expect(findings.map((finding) => finding.key)).toEqual([
      `${hosts[1]?.id}:media_reachability`,
      `${hosts[2]?.id}:offline`,
    ]);
    expect(findings[0]?.remediation).toHaveLength(1);
    expect(findingsHeadline(findings)).toBe('2 things need you');
  });

  test('say when no slot is left, which needs nobody', () => {
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

  test('say why a host takes nothing, and pass over outcomes unknown here', () => {
    const odd = host(1, {
      capacity: null,
      capacity_detection: 'failed',
      capacity_reason: 'nvidia-smi timed out',
      readiness: [{ id: 'x', status: 'mystery', summary: '', remediation: [] }],
    });
    expect(findingsOf([odd])).toMatchObject([{ tone: 'danger', text: 'nvidia-smi timed out' }]);
  });
});

describe('the app form', () => {
  test('gives back what it was given', () => {
    const stored = app(2, {
      runtime_spec: { args: ['/bin/a', 'b c'], env: { A: 'x=y' }, gpu: true, own_key: [1] },
    });
    const body = bodyOf(formOf(stored), stored.runtime_spec, false);
    for (const [key, value] of Object.entries(body))
      expect(stored[key as keyof typeof stored], key).toEqual(value);
  });

  test('drops emptied fields and keeps keys it does not show', () => {
    const body = bodyOf({ ...NEW_APP, name: ' A ', args: 'a\n\n b' }, { image: 'x', network: 'none' }, false);
    expect(body.name).toBe('A');
    expect(body.runtime_spec).toEqual({ args: ['a', ' b'], network: 'none' });
  });

  test('sends no spec for a part of a launcher', () => {
    expect(bodyOf(NEW_APP, {}, true)).not.toHaveProperty('runtime_spec');
  });

  test('names what is wrong', () => {
    expect(appRules.name('  ')).not.toBeNull();
    expect(appRules.args('', NEW_APP)).not.toBeNull();
    expect(appRules.args('', { ...NEW_APP, image: 'x' })).toBeNull();
    expect(appRules.env('A=1\nno equals')).not.toBeNull();
    expect(appRules.env('A=1\n_B2=')).toBeNull();
    expect(appRules.default_width(1921)).toBe('An even number');
    expect(appRules.default_width('')).not.toBeNull();
    expect(appRules.default_fps(241)).not.toBeNull();
  });
});

describe('the access step', () => {
  test('is content with a secure address and points at the certificate', () => {
    expect(verdictsOf(accessCheck).map(({ key, good }) => [key, good])).toEqual([
      ['secure', true],
      ['certificate', false],
      ['origin', true],
    ]);
  });

  test('offers the entry that a refused origin needs', () => {
    const refused = verdictsOf({
      ...accessCheck,
      origins: {
        ...accessCheck.origins,
        request_origin_allowed: false,
        suggested_entry: 'https://b.example',
      },
    });
    expect(refused[2]).toMatchObject({ good: false, copy: 'https://b.example' });
  });
});

test('the sessions page’s address keeps only what it knows', () => {
  expect(parseSessionSearch({ state: 'nonsense', q: 7, open: 'x' })).toEqual({ open: 'x' });
  expect(parseSessionSearch({ state: 'active' })).toEqual({});
  expect(parseSessionSearch({ state: 'failed', q: 'a'.repeat(200) })).toEqual({
    state: 'failed',
    q: 'a'.repeat(100),
  });
});
