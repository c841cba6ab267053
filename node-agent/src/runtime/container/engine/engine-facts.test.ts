import { describe, expect, test } from 'vitest';
import { engineProblem, readEngineFacts } from './engine-facts.ts';
import { isMountable } from './engine-names.ts';

const podman = (version: string) =>
  readEngineFacts(
    { Version: version, Components: [{ Name: 'Podman Engine', Version: version }] },
    {
      DockerRootDir: '/var/lib/containers/storage',
      DefaultRuntime: 'crun',
      SecurityOptions: ['name=seccomp'],
    },
  );
const docker = (version: string) =>
  readEngineFacts(
    {
      Version: version,
      Components: [
        { Name: 'Engine', Version: version },
        { Name: 'containerd', Version: '2' },
      ],
    },
    { DockerRootDir: '/var/lib/docker', DefaultRuntime: 'runc', SecurityOptions: ['name=rootless'] },
  );
const WISHES = { ociRuntime: null, nvidia: false, stateDir: '/var/lib/service-agent' };

describe('a container engine', () => {
  test('is recognized by its components, and not by its version number', () => {
    expect(podman('4.3.1')).toEqual({
      kind: 'podman',
      version: '4.3.1',
      storeDir: '/var/lib/containers/storage',
      defaultRuntime: 'crun',
      obeysRequests: false,
      rootless: false,
    });
    expect(podman('5.4.0').obeysRequests).toBe(true);
    expect(docker('27.1.1')).toMatchObject({ kind: 'docker', obeysRequests: true, rootless: true });
  });

  test('podman reports only in its own API that it is rootless', () => {
    const version = { Version: '4.3.1', Components: [{ Name: 'Podman Engine', Version: '4.3.1' }] };
    const info = { SecurityOptions: ['name=seccomp,profile=default'] };
    const own = (rootless: boolean) => ({ host: { security: { rootless } } });
    expect(readEngineFacts(version, info, own(true))).toMatchObject({ kind: 'podman', rootless: true });
    for (const answer of [own(false), null, { message: 'not found' }])
      expect(readEngineFacts(version, info, answer)).toMatchObject({ rootless: false });
  });

  test.each([
    ['podman of Debian 12', podman('4.3.1'), {}, null],
    ['an old podman', podman('3.4.4'), {}, 'too old'],
    ['an old docker', docker('19.3.15'), {}, 'too old'],
    ['NVIDIA with an old podman', podman('5.3.9'), { nvidia: true }, 'no NVIDIA GPU'],
    ['NVIDIA with a new podman', podman('5.4.0'), { nvidia: true }, null],
    ['NVIDIA with docker', docker('27.1.1'), { nvidia: true }, null],
    [
      'a runtime that is ignored',
      podman('4.3.1'),
      { ociRuntime: 'runc' },
      'ignores SERVICE_CONTAINER_RUNTIME',
    ],
    ['a runtime that is the engine’s', podman('4.3.1'), { ociRuntime: 'crun' }, null],
    ['a runtime that is honored', docker('27.1.1'), { ociRuntime: 'kata' }, null],
    ['a state directory with a comma', docker('27.1.1'), { stateDir: '/srv/a,b' }, 'SERVICE_AGENT_STATE_DIR'],
  ])('%s', (_name, facts, wishes, problem) => {
    const found = engineProblem(facts, { ...WISHES, ...wishes });
    if (problem === null) expect(found).toBe(null);
    else {
      expect(found?.summary).toContain(problem);
      expect(found?.mend.length).toBeGreaterThan(0);
    }
  });

  test.each(['/x,source=/etc', '/x:rw', '/x"', '/x\\y', '/x\ny', 'x', ''])(
    'a mount cannot name %j',
    (path) => {
      expect(isMountable(path)).toBe(false);
    },
  );
});
