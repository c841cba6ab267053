import { expect, test } from 'vitest';
import { appProfile } from './app-filter.ts';

/**
 * A profile in the format of containers/common: unconditional calls, calls for capabilities, and calls with arguments.
 */
const PODMAN = {
  defaultAction: 'SCMP_ACT_ERRNO',
  syscalls: [
    {
      names: ['read', 'chmod', 'clone', 'clone3', 'keyctl', 'openat', 'pidfd_getfd', 'setns', 'unshare'],
      action: 'SCMP_ACT_ALLOW',
      args: [],
      includes: {},
    },
    { names: ['bpf'], action: 'SCMP_ACT_ALLOW', args: [], includes: { caps: ['CAP_SYS_ADMIN'] } },
    { names: ['personality'], action: 'SCMP_ACT_ALLOW', args: [{ index: 0, value: 8, op: 'SCMP_CMP_EQ' }] },
  ],
};

interface Rule {
  names: string[];
  action: string;
  args?: { index: number; value: number; valueTwo: number }[];
}
const rulesOf = (userNamespaces: boolean, profile: object = PODMAN) =>
  (appProfile(profile, userNamespaces) as { syscalls: Rule[] }).syscalls;
const about = (rules: Rule[], name: string) => rules.filter(({ names }) => names.includes(name));

test('closes calls that apps do not need, and keeps the engine’s other rules', () => {
  const rules = rulesOf(false);
  for (const name of ['keyctl', 'pidfd_getfd', 'clone3', 'setns']) expect(about(rules, name)).toEqual([]);
  expect(about(rules, 'read')[0]?.args).toEqual([]);
  expect(rules.slice(1, 3)).toEqual(PODMAN.syscalls.slice(1));
  expect(appProfile(PODMAN, false)).toMatchObject({ defaultAction: 'SCMP_ACT_ERRNO' });
});

test.each([
  ['clone', 0, 0x1000_0000],
  ['unshare', 0, 0x1000_0000],
  ['chmod', 1, 0o4000],
])('%s is allowed without a bit of argument %i, and refused with it', (name, index, bit) => {
  expect(about(rulesOf(false), name)).toMatchObject([
    { action: 'SCMP_ACT_ALLOW', args: [{ index, value: bit, valueTwo: 0 }] },
    { action: 'SCMP_ACT_ERRNO', args: [{ index, value: bit, valueTwo: bit }] },
  ]);
});

test('for an app with its own sandbox, only user namespaces stay open', () => {
  const rules = rulesOf(true);
  for (const name of ['clone', 'clone3', 'setns', 'unshare'])
    expect(about(rules, name)).toMatchObject([{ action: 'SCMP_ACT_ALLOW', args: [] }]);
  expect(about(rules, 'keyctl')).toEqual([]);
  expect(about(rules, 'chmod')).toHaveLength(2);
});

test('opens nothing that the engine closes', () => {
  const strict = { syscalls: [{ names: ['read'], action: 'SCMP_ACT_ALLOW' }] };
  expect(rulesOf(false, strict)).toEqual(strict.syscalls);
  const conditional = {
    syscalls: [{ names: ['clone'], action: 'SCMP_ACT_ALLOW', args: [{ index: 0, value: 1 }] }],
  };
  expect(rulesOf(false, conditional)).toEqual(conditional.syscalls);
});

test.each([[null], [{}], [{ syscalls: [{ names: 'read' }] }]])('another form is refused: %j', (profile) => {
  expect(() => appProfile(profile, false)).toThrow();
});
