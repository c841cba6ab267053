import { describe, expect, test } from 'vitest';
import { putInForce } from '../../i18n/translate.ts';
import german from '../i18n/de.po';
import { actionLabel, detailLabel } from './activity-labels.ts';

describe('the labels of an activity entry', () => {
  test('shows an unknown action as it is', () => {
    expect(actionLabel('user.deleted')).toBe('Deleted an account');
    expect(actionLabel('flux.capacitor.armed')).toBe('flux.capacitor.armed');
  });

  test.each([
    [{ name: 'Terminal' }, 'Terminal'],
    [{ keys: ['default_width', 'name'] }, 'Width, Name'],
    [{ keys: ['abr_enabled', 'warp_factor'] }, 'Adapt the bitrate, warp factor'],
    [{ keys: ['window_start', 'window_end'] }, 'Only at certain times'],
    [{ kind: 'pipeline_dot', capture_id: 'x' }, 'Pipeline'],
    [{ bytes: 73_400_320 }, '73.4 MB'],
    [{ role: 'admin' }, 'Administrator'],
    [{ role: 'owner' }, 'role owner'],
    [{ images: 4, sync_error: false }, '4 images'],
    [{ version: '1.0.0', applied: true }, 'version 1.0.0'],
    [{ external_id: '570', rule: 'ignore', disabled: false, revoked: 0 }, 'Keep out'],
    [
      { rule: 'ignore', disabled: true, revoked: 1 },
      'Keep out · its tile was switched off · 1 person has lost it',
    ],
    [{ queued: 1, skipped: 0, eligible: 1 }, '1 search requested'],
    [{ entitlement_id: 'x', subject_type: 'all', subject_id: null }, 'everybody'],
    [{ name: 'Steam', delete_derived: true }, 'Steam · with its titles'],
    [{ name: 'Steam', delete_derived: false }, 'Steam'],
    [
      { reason_source: 'agent', failure_code: 'app_crashed', reason: 'signal 11', state_detail: 'running' },
      'The app crashed.',
    ],
    [
      { reason_source: 'control_plane', failure_code: null, state_detail: 'start timed out' },
      'Start timed out',
    ],
    // A job's summary comes from its host, and a JSON object may overwrite its own methods.
    [{ name: { toString: 1 } }, '{"toString":1}'],
    [{ kept: [{ toString: 1, valueOf: 1 }] }, '{"toString":1,"valueOf":1}'],
    [{}, ''],
    [{ state_detail: 'starting app' }, 'Starting app'],
  ])('%j is “%s”', (details, label) => {
    expect(detailLabel({ details })).toBe(label);
  });

  test('a time is written in the language of the page', () => {
    const expires_at = '2026-12-24T12:00:00.000Z';
    expect(detailLabel({ details: { role: 'user', expires_at } })).toMatch(
      /^User · valid until 24 Dec 2026, \d\d:00:00$/,
    );
    putInForce(german, 'de');
    expect(detailLabel({ details: { at: expires_at } })).toMatch(/^at 24\.12\.2026, \d\d:00:00$/);
    putInForce({}, 'en-GB');
  });
});
