import { describe, expect, test } from 'vitest';
import { type DiscoverySettings, decideInertReason, discoveryInForce } from './inertness.ts';

const settings: DiscoverySettings = {
  libraryDiscoveryEnabled: true,
  libraryDiscoveryIntervalMinutes: 360,
  libraryDiscoveryAppdetailsEnabled: false,
  storageProvider: 'auto',
};
const UNSET = { scanInterval: null, storeLookup: null };
const KILLED = { scanInterval: { everyMs: null }, storeLookup: null };

describe('why discovery does nothing', () => {
  test('is the first reason that applies', () => {
    const off = { ...settings, libraryDiscoveryEnabled: false, storageProvider: 'volume' } as const;
    const volume = { ...settings, storageProvider: 'volume' } as const;
    const reasons = [
      decideInertReason(KILLED, off, false),
      decideInertReason(KILLED, volume, false),
      decideInertReason(UNSET, volume, false),
      decideInertReason(UNSET, settings, false),
      decideInertReason(UNSET, settings, true),
    ];
    expect(reasons.map((reason) => /switched off|SCAN_INTERVAL|volumes|marked|^$/.exec(reason)?.[0])).toEqual(
      ['switched off', 'SCAN_INTERVAL', 'volumes', 'marked', ''],
    );
  });
});

describe('a set variable wins over its setting', () => {
  test.each([
    ['nothing set', UNSET, { scanIntervalMs: 21_600_000, storeLookup: false }],
    ['an interval', { ...UNSET, scanInterval: { everyMs: 60_000 } }, { scanIntervalMs: 60_000 }],
    ['no scans', KILLED, { scanIntervalMs: null }],
    ['the lookup', { ...UNSET, storeLookup: true }, { storeLookup: true }],
  ])('%s', (_what, environment, expected) => {
    expect(discoveryInForce(environment, settings)).toMatchObject(expected);
  });

  test('off too', () => {
    const on = { ...settings, libraryDiscoveryAppdetailsEnabled: true };
    expect(discoveryInForce({ ...UNSET, storeLookup: false }, on).storeLookup).toBe(false);
  });
});
