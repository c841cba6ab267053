import { describe, expect, test } from 'vitest';
import { accessCheck, app, host, hosts, launchProfile } from '../../test/fixtures.ts';
import { parseSessionSearch } from '../routes/admin/-session-search.ts';
import { type AppForm, appRules, bodyOf, formOf, NEW_APP } from './apps/app-form-model.ts';
import { runsAsWords } from './apps/app-words.ts';
import { policyChoices } from './apps/profile-choice-words.ts';
import { changesOf } from './frame/changes.ts';
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

  test('sends only changed fields, for any stored values', () => {
    const stored = app(2, {
      runtime_spec: { args: ['/bin/sh', '-c', 'two\nlines', ''], env: { SCRIPT: 'a\nB=b' }, network: 'none' },
      runtime_preset_id: 'p',
      home_container_path: '/srv/home',
      profile_policy: 'prefer',
      default_profile_id: '1080p60',
      launchable_profile_ids: ['1080p60', '720p60'],
    });
    const form = formOf(stored);
    expect(changesOf(stored, bodyOf(form, stored.runtime_spec, false))).toEqual({});
    const ticked = { ...form, launchable_profile_ids: ['720p60', '1080p60'], runtime_preset_id: '' };
    expect(changesOf(stored, bodyOf(ticked, stored.runtime_spec, false))).toEqual({
      runtime_preset_id: null,
    });
  });

  test('sends no allow-list with a forced launch profile', () => {
    const form: AppForm = { ...NEW_APP, profile_policy: 'force', launchable_profile_ids: ['a'] };
    expect(bodyOf(form, undefined, false).launchable_profile_ids).toEqual([]);
  });

  test('sends nothing that a part of a launcher takes from it', () => {
    const body = bodyOf({ ...NEW_APP, name: 'A' }, {}, true);
    for (const key of [
      'runtime_spec',
      'runtime_preset_id',
      'managed_home',
      'home_container_path',
      'default_encode_slots',
    ]) {
      expect(body).not.toHaveProperty(key);
    }
    expect(body).toHaveProperty('profile_policy', 'inherit');
  });

  test('names what is wrong', () => {
    expect(appRules.name('  ')).not.toBeNull();
    expect(appRules.args('', NEW_APP)).not.toBeNull();
    expect(appRules.args('', { ...NEW_APP, image: 'x' })).toBeNull();
    expect(appRules.args('', { ...NEW_APP, runtime_preset_id: 'p' })).toBeNull();
    expect(appRules.home_container_path('home')).not.toBeNull();
    expect(appRules.env('A=1\nno equals')).not.toBeNull();
    expect(appRules.env('A=1\n_B2=')).toBeNull();
    expect(appRules.default_width(1921)).toBe('An even number');
    expect(appRules.default_width('')).not.toBeNull();
    expect(appRules.default_fps(241)).not.toBeNull();
  });
});

describe('what an app runs as', () => {
  test('is said of parts of a launcher with its name, where that is known', () => {
    const tile = app(1, { parent_app_id: 'p', runtime_spec: {} });
    expect(runsAsWords(tile, 'Steam')).toBe('Part of Steam');
    expect(runsAsWords(tile, undefined)).toBe('Part of a launcher');
  });

  test('is left to the preset unless the app names an image', () => {
    expect(runsAsWords(app(2, { runtime_preset_id: 'p' }), undefined)).toBe('As its preset says');
    expect(runsAsWords(app(1, { runtime_preset_id: 'p' }), undefined)).toBe('Container');
    expect(runsAsWords(app(2), undefined)).toBe('Process');
  });
});

describe('the ways to a launch profile', () => {
  const profiles = [launchProfile('a', { display_name: 'Couch' })];

  test('name what inheriting means now', () => {
    const inherit = (globalDefault: string | null, allowed: boolean) =>
      policyChoices(profiles, {
        global_default_profile_id: globalDefault,
        user_overrides_allowed: allowed,
      })[0]?.description;
    expect(inherit('a', true)).toBe(
      'The default of the instance, now Couch, unless the person chose another.',
    );
    expect(inherit('a', false)).toBe('The default of the instance, now Couch. People may not choose here.');
    expect(inherit(null, true)).toContain('the numbers below apply');
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

  test('shows the line that a proxy in front needs', () => {
    const advice = 'If it is your proxy, set SERVICE_TRUSTED_PROXIES=10.0.0.0/8,172.17.0.1 and restart.';
    const verdicts = verdictsOf({ ...accessCheck, request: { ...accessCheck.request, advice } });
    expect(verdicts.find(({ key }) => key === 'proxy')).toMatchObject({
      good: false,
      text: advice,
      copy: 'SERVICE_TRUSTED_PROXIES=10.0.0.0/8,172.17.0.1',
    });
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
