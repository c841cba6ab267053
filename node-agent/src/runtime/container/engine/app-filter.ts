import { z } from 'zod';

/**
 * Calls that podman 4.3 allows although apps do not need them. They are refused, as for apps without a container
 * (confinement/seccomp.ts).
 *
 * The display and sound servers of an app run outside of its container, but their sockets reveal these processes
 * (SO_PEERPIDFD), so with pidfd_getfd the app could copy the descriptors of the servers. Keys stay with a user id for
 * three days, and 200 keys use up the limit of the next session with this id. One app could use up the host's contexts
 * of old asynchronous I/O. openat2 passes a file's mode through memory, which a filter cannot read.
 */
const CLOSED: ReadonlySet<string> = new Set([
  ...['add_key', 'request_key', 'keyctl', 'pidfd_getfd', 'openat2'],
  ...['io_setup', 'io_uring_setup', 'io_uring_enter', 'io_uring_register'],
  ...['bpf', 'perf_event_open', 'userfaultfd'],
]);
/**
 * Calls that create or enter user namespaces. A filter cannot read the flags of clone3; if clone3 fails, the C library
 * uses clone.
 */
const NAMESPACE_CALLS: ReadonlySet<string> = new Set(['clone3', 'setns']);

const CLONE_NEWUSER = 0x1000_0000;
const S_ISUID = 0o4000;
const O_CREAT = 0o100;
/** The bit that only O_TMPFILE sets. */
const O_TMPFILE = 0o20_000_000;
const EPERM = 1;

/** Index of the argument with the mode, by call name. */
const MODE_CALLS: ReadonlyMap<string, number> = new Map([
  ...['chmod', 'fchmod', 'creat', 'mknod'].map((name) => [name, 1] as const),
  ...['fchmodat', 'fchmodat2', 'mknodat'].map((name) => [name, 2] as const),
]);
/** Indexes of flags and mode. These calls use the mode only when they create a file. */
const OPEN_CALLS: ReadonlyMap<string, { flags: number; mode: number }> = new Map([
  ['open', { flags: 1, mode: 2 }],
  ['openat', { flags: 2, mode: 3 }],
]);

const ruleSchema = z.looseObject({
  names: z.array(z.string()),
  action: z.string(),
  args: z.array(z.unknown()).nullish(),
  includes: z.looseObject({}).nullish(),
});
export const profileSchema = z.looseObject({ syscalls: z.array(ruleSchema) });
type Rule = z.infer<typeof ruleSchema>;

/**
 * Builds the filter of an app from the engine's filter. Calls that the engine refuses stay refused. Pure.
 *
 * In addition, the filter refuses the calls of CLOSED, and the creation of setuid files (EPERM). Another user of the
 * host who runs a setuid file would act as the user of later sessions with this id.
 * @param profile a filter of podman or docker (the JSON of containers/common)
 * @param userNamespaces false: also refuses user namespaces, because an app in one has every capability
 * @throws when the profile has another form
 */
export function appProfile(profile: unknown, userNamespaces: boolean): object {
  const { syscalls, ...rest } = profileSchema.parse(profile);
  const open = new Set(syscalls.filter(isUnconditional).flatMap(({ names }) => names));
  const isTaken = (name: string) =>
    CLOSED.has(name) ||
    MODE_CALLS.has(name) ||
    OPEN_CALLS.has(name) ||
    (!userNamespaces && (NAMESPACE_CALLS.has(name) || name === 'clone' || name === 'unshare'));
  const kept = syscalls.map((rule) =>
    isUnconditional(rule) ? { ...rule, names: rule.names.filter((name) => !isTaken(name)) } : rule,
  );
  const modes = [...MODE_CALLS].flatMap(([name, mode]) => unlessBits(name, mode, S_ISUID));
  const opens = [...OPEN_CALLS].flatMap(([name, { flags, mode }]) => [
    allow(name, [without(flags, O_CREAT | O_TMPFILE)]),
    allow(name, [without(mode, S_ISUID)]),
    refuse(name, [having(flags, O_CREAT), having(mode, S_ISUID)]),
    refuse(name, [having(flags, O_TMPFILE), having(mode, S_ISUID)]),
  ]);
  const namespaces = userNamespaces
    ? []
    : ['clone', 'unshare'].flatMap((name) => unlessBits(name, 0, CLONE_NEWUSER));
  const added = [...modes, ...opens, ...namespaces].filter(({ names }) => open.has(names[0] ?? ''));
  return { ...rest, syscalls: [...kept.filter(({ names }) => names.length > 0), ...added] };
}

/** Whether a rule allows its calls with all arguments and without any capability. */
function isUnconditional({ action, args, includes }: Rule): boolean {
  const needs = Object.values(includes ?? {}).some((each) => !Array.isArray(each) || each.length > 0);
  return action === 'SCMP_ACT_ALLOW' && (args ?? []).length === 0 && !needs;
}

/** Allows a call unless an argument has a certain bit. */
const unlessBits = (name: string, index: number, bit: number) => [
  allow(name, [without(index, bit)]),
  refuse(name, [having(index, bit)]),
];

const allow = (name: string, args: readonly object[]) => ({ names: [name], action: 'SCMP_ACT_ALLOW', args });
const refuse = (name: string, args: readonly object[]) => ({
  names: [name],
  action: 'SCMP_ACT_ERRNO',
  errnoRet: EPERM,
  args,
});
/** Compares (argument & value) with valueTwo. Source: seccomp_rule_add(3), SCMP_CMP_MASKED_EQ. */
const masked = (index: number, value: number, valueTwo: number) => ({
  ...{ index, value, valueTwo },
  op: 'SCMP_CMP_MASKED_EQ',
});
const without = (index: number, bits: number) => masked(index, bits, 0);
const having = (index: number, bits: number) => masked(index, bits, bits);
