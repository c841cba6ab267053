import type { AppSpec } from '@footlight/protocol/agent';
import { describe, expect, test } from 'vitest';
import type { AppContext } from '../runtime.ts';
import { type ContainerHost, type ContainerPlan, containerOptions } from './container-options.ts';

const SESSION = '0b253cc2-059b-4b22-b34d-5ad7a7949052';
const dirs = {
  root: '/s',
  scratch: '/s/scratch',
  home: '/s/scratch/home',
  tmp: '/s/scratch/tmp',
  run: '/s/scratch/run',
  xauthority: '/s/scratch/xauthority',
  mounts: '/s/mounts',
  console: '/s/console',
};
const context: AppContext = {
  sessionId: SESSION,
  instance: `2-${SESSION}`,
  user: { uid: 70_001, gid: 70_001, groups: [] },
  dirs,
  enter: [],
  home: '/homes/alice/doom',
  overlay: null,
  display: ':5',
  displaySocket: '/tmp/.X11-unix/X5',
  pulseServer: 'unix:/s/scratch/run/pulse.sock',
  ready: Promise.resolve(),
  network: null,
  gpu: { renderNode: null, cdiName: null },
};
const app: AppSpec = {
  image: 'registry.test/doom@sha256:'.padEnd(90, '0'),
  args: ['-fullscreen'],
  env: { DOOM: '1' },
  mounts: [],
  gpu: false,
  label: 'Doom',
};
const host: ContainerHost = {
  agentId: 'a1',
  facts: { kind: 'podman', obeysRequests: false, rootless: false },
  limits: { memoryMb: 8192, pids: 4096, cpus: 0 },
  network: 'none',
  ociRuntime: null,
  ulimits: null,
  filters: null,
  hasInit: true,
  ownIds: { uid: 0, gid: 0 },
  inputDevices: null,
  nvidiaLib32Path: null,
};

function made(
  plan: Partial<ContainerPlan> & { spec?: Partial<AppSpec>; at?: Partial<AppContext> } = {},
  more: Partial<ContainerHost> = {},
) {
  const { spec, at, ...rest } = plan;
  return containerOptions(
    {
      app: { ...app, ...spec },
      context: { ...context, ...at },
      image: { volumes: [], workingDir: '' },
      mounts: [],
      gpu: null,
      ...rest,
    },
    { ...host, ...more },
  );
}
const targets = (options: ReturnType<typeof made>) =>
  (options.HostConfig?.Mounts ?? []).map(({ Target }) => Target);
const env = (options: ReturnType<typeof made>) =>
  Object.fromEntries(
    (options.Env ?? []).map((entry) => [entry.split('=')[0], entry.slice(entry.indexOf('=') + 1)]),
  );

describe('the container of an app', () => {
  test('has no capability, gains none, and runs as the session’s user', () => {
    const { HostConfig, User } = made();
    expect(User).toBe('70001:70001');
    expect(HostConfig).toMatchObject({
      Privileged: false,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      ReadonlyRootfs: true,
      IpcMode: 'private',
    });
    expect(HostConfig).not.toHaveProperty('CapAdd');
    expect(HostConfig).not.toHaveProperty('PidMode');
  });

  test('keeps no-new-privileges even if the app disables it', () => {
    expect(made({ spec: { no_new_privileges: false } }).HostConfig?.SecurityOpt).toContain(
      'no-new-privileges',
    );
  });

  test('sees its display, its cookie, its sound and its home, and nothing else of the host', () => {
    expect(made().HostConfig?.Mounts).toEqual([
      { Type: 'bind', Source: '/tmp/.X11-unix/X5', Target: '/tmp/.X11-unix/X5', ReadOnly: true },
      { Type: 'bind', Source: '/s/scratch/xauthority', Target: '/run/footlight-xauthority', ReadOnly: true },
      { Type: 'bind', Source: '/s/scratch/run', Target: '/run/user/70001', ReadOnly: false },
      { Type: 'bind', Source: '/homes/alice/doom', Target: '/home/service', ReadOnly: false },
    ]);
    expect(env(made())).toMatchObject({
      DOOM: '1',
      HOME: '/home/service',
      DISPLAY: ':5',
      XAUTHORITY: '/run/footlight-xauthority',
      PULSE_SERVER: 'unix:/run/user/70001/pulse.sock',
      XDG_RUNTIME_DIR: '/run/user/70001',
    });
  });

  test('a variable of the app does not replace a variable of the session', () => {
    const hostile = { HOME: '/etc', DISPLAY: ':0', XAUTHORITY: '/x', FOOTLIGHT_SESSION: 'another' };
    expect(env(made({ spec: { env: hostile } }))).toMatchObject(
      Object.fromEntries(Object.keys(hostile).map((name) => [name, env(made())[name] ?? SESSION])),
    );
  });

  test('a home is mounted at its path: a directory, or a volume', () => {
    const local = { provider: 'local', ref: '/homes/alice/doom', container_path: '/home/doom' } as const;
    expect(made({ spec: { home: local } }).HostConfig?.Mounts).toContainEqual({
      Type: 'bind',
      Source: '/homes/alice/doom',
      Target: '/home/doom',
      ReadOnly: false,
    });
    const ref = 'service-home-0b253cc2-059b-4b22-b34d-5ad7a7949052';
    expect(made({ spec: { home: { ...local, provider: 'volume', ref } } }).HostConfig?.Mounts).toContainEqual(
      {
        Type: 'volume',
        Source: ref,
        Target: '/home/doom',
        ReadOnly: false,
      },
    );
  });

  test('memory, processes and processors have the limits of the host; 0 = no limit', () => {
    expect(made({}, { limits: { memoryMb: 512, pids: 100, cpus: 1.5 } }).HostConfig).toMatchObject({
      Memory: 512 * 1024 * 1024,
      MemorySwap: 512 * 1024 * 1024,
      PidsLimit: 100,
      NanoCpus: 1_500_000_000,
    });
    const none = made({}, { limits: { memoryMb: 0, pids: 0, cpus: 0 } }).HostConfig;
    for (const name of ['Memory', 'MemorySwap', 'PidsLimit', 'NanoCpus'])
      expect(none).not.toHaveProperty(name);
  });

  test('/tmp is 2 GiB in memory, and volumes of the image use no disk', () => {
    const { HostConfig } = made({ image: { volumes: ['/cache', '/home/service'], workingDir: '/' } });
    expect(Object.keys(HostConfig?.Tmpfs ?? {})).toEqual(['/tmp', '/var/tmp', '/cache']);
    expect(HostConfig?.Tmpfs?.['/tmp']).toContain('size=2147483648');
  });

  test('programs configured in the image are not run', () => {
    expect(made()).toMatchObject({ Healthcheck: { Test: ['NONE'] }, StopSignal: 'SIGTERM' });
  });

  test('the app’s network, else the host’s', () => {
    expect(made().HostConfig?.NetworkMode).toBe('none');
    expect(made({}, { network: 'host' }).HostConfig?.NetworkMode).toBe('host');
    expect(made({ spec: { network: 'none' } }, { network: 'host' }).HostConfig?.NetworkMode).toBe('none');
    expect(made({ spec: { network: 'bridge' } }).HostConfig?.NetworkMode).toBe('bridge');
  });

  test('a GPU is its render node with its group, or a name for CDI', () => {
    const renderNode = { path: '/dev/dri/renderD128', gid: 105 };
    expect(made({ gpu: { renderNode, cdiName: null } }).HostConfig).toMatchObject({
      Devices: [{ PathOnHost: renderNode.path, PathInContainer: renderNode.path, CgroupPermissions: 'rw' }],
      GroupAdd: ['105'],
    });
    expect(made({ gpu: { renderNode: null, cdiName: 'nvidia.com/gpu=1' } }).HostConfig).toMatchObject({
      DeviceRequests: [{ Driver: 'cdi', DeviceIDs: ['nvidia.com/gpu=1'] }],
    });
    expect(made().HostConfig).not.toHaveProperty('Devices');
  });

  test('32-bit libraries of the driver are mounted for apps on an NVIDIA GPU only, and searched first', () => {
    const nvidia = { renderNode: null, cdiName: 'nvidia.com/gpu=0' };
    const nvidiaLib32Path = '/usr/lib/i386-linux-gnu/nvidia';
    const options = made({ gpu: nvidia }, { nvidiaLib32Path });
    expect(options.HostConfig?.Mounts).toContainEqual(
      expect.objectContaining({ Source: nvidiaLib32Path, Target: nvidiaLib32Path, ReadOnly: true }),
    );
    expect(env(options).LD_LIBRARY_PATH).toBe(nvidiaLib32Path);
    const own = { env: { LD_LIBRARY_PATH: '/game/lib' } };
    expect(env(made({ gpu: nvidia, spec: own }, { nvidiaLib32Path })).LD_LIBRARY_PATH).toBe(
      `${nvidiaLib32Path}:/game/lib`,
    );
    for (const gpu of [null, { ...nvidia, cdiName: null }])
      expect(targets(made({ gpu }, { nvidiaLib32Path }))).not.toContain(nvidiaLib32Path);
  });

  test('the host’s input devices are mounted, and a session may open only its own', () => {
    const options = made({}, { inputDevices: '/dev/input' });
    expect(targets(options)).toContain('/dev/input');
    expect(options.HostConfig?.DeviceCgroupRules).toEqual(['c 13:* rw']);
  });

  test('an OCI runtime only if the engine honors it', () => {
    expect(made({}, { ociRuntime: 'kata' }).HostConfig).not.toHaveProperty('Runtime');
    const facts = { kind: 'docker', obeysRequests: true, rootless: false } as const;
    expect(made({}, { ociRuntime: 'kata', facts }).HostConfig?.Runtime).toBe('kata');
  });

  test('unmasked system paths in the syntax of each engine', () => {
    const spec = { systempaths_unconfined: true };
    expect(made({ spec }).HostConfig?.SecurityOpt).toContain('unmask=ALL');
    const facts = { kind: 'docker', obeysRequests: true, rootless: false } as const;
    expect(made({ spec }, { facts }).HostConfig).toMatchObject({ MaskedPaths: [], ReadonlyPaths: [] });
  });
});
