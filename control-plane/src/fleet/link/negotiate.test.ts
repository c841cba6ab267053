import { describe, expect, test } from 'vitest';
import { negotiate } from './negotiate.ts';

const upgrade = { nodeName: 'den', bootId: 'boot-1' };
const register = (fields: Partial<Parameters<typeof negotiate>[1]> = {}) => ({
  node_name: 'den',
  boot_id: 'boot-1',
  protocol: { min: 1, max: 1 },
  ...fields,
});

describe('a link registers as the node of its upgrade', () => {
  test('with the same name and boot id', () => {
    expect(negotiate(upgrade, register())).toEqual({ protocol: 1 });
  });
  test('not under another name', () => {
    expect(negotiate(upgrade, register({ node_name: 'attic' }))).toEqual({
      close: 'malformed',
      why: 'another node_name',
    });
  });
  test('not with the boot id of another process', () => {
    expect(negotiate(upgrade, register({ boot_id: 'boot-2' }))).toEqual({
      close: 'malformed',
      why: 'another boot_id',
    });
  });
  test('with any boot id when the upgrade named none', () => {
    expect(negotiate({ ...upgrade, bootId: null }, register({ boot_id: 'boot-2' }))).toEqual({ protocol: 1 });
  });
});

describe('both sides speak the highest common version', () => {
  const speaks = { min: 2, max: 4 };
  test.each([
    ['the agent is newer', { min: 3, max: 9 }, { protocol: 4 }],
    ['the agent is older', { min: 1, max: 3 }, { protocol: 3 }],
    ['one common version', { min: 4, max: 4 }, { protocol: 4 }],
    ['the agent is too old', { min: 1, max: 1 }, { close: 'protocol_unsupported', why: '2-4' }],
    ['the agent is too new', { min: 5, max: 9 }, { close: 'protocol_unsupported', why: '2-4' }],
  ])('%s', (_, protocol, expected) => {
    expect(negotiate(upgrade, register({ protocol }), speaks)).toEqual(expected);
  });
});
