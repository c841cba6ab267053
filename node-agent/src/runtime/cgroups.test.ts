import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { enterServiceGroup, sessionsParent } from './cgroups.ts';

describe('the parent of session groups is', () => {
  test.each([
    [
      'below the service in which the agent entered its own group',
      '/system.slice/footlight-agent.service/footlight-agent',
      '/system.slice/footlight-agent.service',
    ],
    ['below the root for an agent in a session of a person', '/user.slice/user-0.slice/session-3.scope', '/'],
    ['below the root for an agent in the root group', '/', '/'],
    ['below the root without v2', undefined, '/'],
  ])('%s', (_where, own, parent) => {
    expect(sessionsParent(own)).toBe(parent);
  });
});

describe('the group of the service is entered', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'footlight-cgroup-'));
    writeFileSync(join(root, 'cgroup.controllers'), 'memory cpu');
    mkdirSync(join(root, 'somewhere'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  test.each([
    ['not by a process that systemd did not start itself', { SYSTEMD_EXEC_PID: '1' }],
    ['not outside of systemd', {}],
  ])('%s', (_who, env) => {
    enterServiceGroup(env, root);
    expect(readdirSync(root).sort()).toEqual(['cgroup.controllers', 'somewhere']);
  });
});
