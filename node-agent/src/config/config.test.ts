import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HOST_SETTINGS, type SettingValue } from '@footlight/protocol/agent';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from './environment.ts';
import { IGNORED_VARIABLES } from './ignored-variables.ts';
import { overlaySettings, rateModeInForce, settingBaseline } from './setting-values.ts';

const BASE = { SERVICE_CONTROL_URL: 'http://127.0.0.1:8080', SERVICE_NODE_NAME: 'host-1' };
/** The agent's variables in the tables of the documentation; the variables of host settings are in HOST_SETTINGS. */
const CONTRACT_VARIABLES = `
  SERVICE_ENROLLMENT_TOKEN SERVICE_CONTROL_URL SERVICE_FILE_TRANSFER SERVICE_FILE_TRANSFER_MAX_MB
  SERVICE_AGENT_METRICS_ADDR SERVICE_CONTROL_CA SERVICE_CONTROL_FINGERPRINT SERVICE_NODE_NAME SERVICE_AGENT_STATE_DIR
  SERVICE_AGENT_ORPHAN_SECS SERVICE_HOME_ROOT SERVICE_MOUNT_ROOTS SERVICE_ENCODE_SLOTS SERVICE_MEDIA_ADDRESSES
  SERVICE_MEDIA_PORTS SERVICE_CONTAINER_NETWORK SERVICE_CONTAINER_ENGINE SERVICE_CONTAINER_RUNTIME
  SERVICE_CONTAINER_ULIMITS SERVICE_APP_MEMORY_MB SERVICE_APP_PIDS SERVICE_APP_CPUS SERVICE_PROCESS_RUNTIME
  SERVICE_PROCESS_UIDS SERVICE_AGENT_HEALTH_ADDR SERVICE_IMAGE_SOURCE_HOSTS SERVICE_LOG_LEVEL
`
  .trim()
  .split(/\s+/);
let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'footlight-config-'));
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('environment', () => {
  test('variables that have no effect in this version are named in one warning, without their values', () => {
    const env = {
      ...BASE,
      SERVICE_ZEROCOPY: '1',
      SERVICE_LATENCY_PROBE: 'true',
      SERVICE_MOUNT_ROOTS: '',
    };
    expect(readConfig(env).warnings).toEqual([
      'set, and without effect in this version: SERVICE_ZEROCOPY (the setting is kept and not used), SERVICE_LATENCY_PROBE (the setting is kept and not used)',
    ]);
    expect(readConfig(BASE).warnings).toEqual([]);
  });

  test('a metrics address that other machines can reach gives a warning', () => {
    const withMetrics = (address: string) => readConfig({ ...BASE, SERVICE_AGENT_METRICS_ADDR: address });
    expect(withMetrics('127.0.0.1:9092')).toMatchObject({
      metricsAddress: ['127.0.0.1', 9092],
      warnings: [],
    });
    expect(withMetrics('[::1]:9092').warnings).toEqual([]);
    expect(withMetrics('0.0.0.0:9092').warnings).toEqual([
      'SERVICE_AGENT_METRICS_ADDR: everybody who reaches 0.0.0.0 can read the metrics, without a password; let a firewall admit Prometheus alone',
    ]);
    expect(() => withMetrics('9092')).toThrow(
      'SERVICE_AGENT_METRICS_ADDR: expected address:port such as 127.0.0.1:9091',
    );
  });

  test('every variable of the contract is either read or listed as ignored', () => {
    const read = new Set<string>();
    readConfig(
      new Proxy<Record<string, string>>(BASE, {
        get: (env, name) => {
          read.add(String(name));
          return env[String(name)];
        },
      }),
    );
    const contract = [...CONTRACT_VARIABLES, ...HOST_SETTINGS.map(({ env_var }) => env_var)];
    expect(contract.filter((name) => !read.has(name) && !(name in IGNORED_VARIABLES))).toEqual([]);
    expect(Object.keys(IGNORED_VARIABLES).filter((name) => !contract.includes(name))).toEqual([]);
  });

  test('defaults', () => {
    expect(readConfig(BASE)).toMatchObject({
      nodeName: 'host-1',
      stateDir: '/var/lib/service-agent',
      orphanSecs: 600,
      processRuntime: false,
      processUids: [70_000, 70_255],
      healthHost: '127.0.0.1',
      healthPort: 9091,
      appMemoryMb: 8192,
      appPids: 4096,
      appCpus: 0,
      containerNetwork: 'none',
      mountRoots: [],
      hostSettings: {},
    });
  });

  test.each([
    ['SERVICE_CONTROL_URL', ''],
    ['SERVICE_CONTROL_URL', 'control:8080'],
    ['SERVICE_CONTROL_URL', 'ftp://control'],
    ['SERVICE_CONTROL_URL', 'https://control,'],
    ['SERVICE_CONTROL_URL', Array(17).fill('https://control').join()],
    ['SERVICE_CONTROL_FINGERPRINT', 'AA:BB'],
    ['SERVICE_CONTROL_CA', '/nowhere/ca.pem'],
    ['SERVICE_ENROLLMENT_TOKEN', 'short'],
    ['SERVICE_NODE_NAME', 'Has Spaces'],
    ['SERVICE_AGENT_STATE_DIR', 'relative/dir'],
    ['SERVICE_AGENT_ORPHAN_SECS', '-1'],
    ['SERVICE_MOUNT_ROOTS', 'relative'],
    ['SERVICE_MOUNT_ROOTS', '/a:rw:rw'],
    ['SERVICE_ENCODE_SLOTS', '65'],
    ['SERVICE_MEDIA_ADDRESSES', '10.0.0.1,nonsense'],
    ['SERVICE_MEDIA_PORTS', '9000-8000'],
    ['SERVICE_CONTAINER_NETWORK', 'all'],
    ['SERVICE_CONTAINER_ULIMITS', 'mine'],
    ['SERVICE_APP_MEMORY_MB', '1.5'],
    ['SERVICE_PROCESS_RUNTIME', 'yes'],
    ['SERVICE_FILE_TRANSFER', '2'],
    ['SERVICE_FILE_TRANSFER_MAX_MB', '0'],
    ['SERVICE_PROCESS_UIDS', '0-10'],
    ['SERVICE_AGENT_HEALTH_ADDR', '9091'],
    ['SERVICE_LOG_LEVEL', 'loud'],
    ['SERVICE_GOP', '0'],
    ['SERVICE_ENCODER', 'x264'],
    ['SERVICE_ABR', 'perhaps'],
    ['SERVICE_HOME_ROOT', 'homes'],
  ])('%s=%s is refused by name, with what was expected', (name, value) => {
    expect(() => readConfig({ ...BASE, [name]: value })).toThrow(ConfigError);
    expect(() => readConfig({ ...BASE, [name]: value })).toThrow(new RegExp(`^${name}: expected `));
  });

  test('several replicas of the control plane are separated by commas', () => {
    const { controlUrls } = readConfig({ ...BASE, SERVICE_CONTROL_URL: 'https://a:8443/, http://b/base/' });
    expect(controlUrls.map(({ href }) => href)).toEqual(['https://a:8443/', 'http://b/base']);
  });

  test('a value may be given directly or by a file, but not both', () => {
    const file = join(dir, 'token');
    writeFileSync(file, 'a-token-from-a-file\n');
    expect(readConfig({ ...BASE, SERVICE_ENROLLMENT_TOKEN_FILE: file }).enrollmentToken).toBe(
      'a-token-from-a-file',
    );
    const both = { ...BASE, SERVICE_ENROLLMENT_TOKEN: 'x'.repeat(16), SERVICE_ENROLLMENT_TOKEN_FILE: file };
    expect(() => readConfig(both)).toThrow(ConfigError);
    expect(() => readConfig({ ...BASE, SERVICE_GOP_FILE: '/nowhere' })).toThrow(/SERVICE_GOP_FILE/);
  });

  test('lists, ranges and addresses', () => {
    const config = readConfig({
      ...BASE,
      SERVICE_MOUNT_ROOTS: '/srv/games:/srv/saves:rw',
      SERVICE_ENCODE_SLOTS: '4,2',
      SERVICE_MEDIA_PORTS: '40000-40100',
      SERVICE_MEDIA_ADDRESSES: '10.0.0.1, fd00::1',
      SERVICE_AGENT_HEALTH_ADDR: '[::1]:9000',
      SERVICE_FILE_TRANSFER: '0',
      SERVICE_MEDIA_FALLBACK_PORT: '0',
      SERVICE_FILE_TRANSFER_MAX_MB: '100',
      SERVICE_GOP: '120',
      SERVICE_ABR: '0',
    });
    expect(config.mountRoots).toEqual([
      { path: '/srv/games', writable: false },
      { path: '/srv/saves', writable: true },
    ]);
    expect(config).toMatchObject({
      encodeSlots: [4, 2],
      mediaPorts: [40_000, 40_100],
      mediaFallbackPort: null,
      mediaAddresses: ['10.0.0.1', 'fd00::1'],
      healthHost: '::1',
      healthPort: 9000,
      fileTransfer: false,
      fileTransferMaxMb: 100,
      hostSettings: { gop: 120, abr_enabled: false },
    });
  });
});

describe('host settings', () => {
  test('every default is a valid value of its setting', () => {
    const { rejected } = overlaySettings(
      new Map(),
      Object.fromEntries(HOST_SETTINGS.map((setting) => [setting.key, setting.default])),
    );
    expect(rejected).toEqual([]);
    expect(HOST_SETTINGS).toHaveLength(39);
  });

  test('overrides replace environment values; a removed override falls back, an invalid one is ignored', () => {
    const baseline = settingBaseline({ gop: 120 });
    const { values, rejected } = overlaySettings(baseline, {
      gop: 30,
      slices: 'many',
      unknown: 1,
      idle_timeout_secs: 0,
    });
    expect(values.get('gop')).toBe(30);
    expect(values.get('slices')).toBe(8);
    expect(values.get('idle_timeout_secs')).toBe(0);
    expect(rejected).toEqual(['slices: expected a whole number from 1']);
    expect(overlaySettings(baseline, {}).values.get('gop')).toBe(120);
  });
});

describe('rate control mode in force', () => {
  const mode = (environment: Record<string, SettingValue>, overrides: Record<string, unknown>) =>
    rateModeInForce(overlaySettings(settingBaseline(environment), overrides).values, environment, overrides);

  const cases: [Record<string, SettingValue>, Record<string, unknown>, string, string][] = [
    [{}, {}, 'smooth', 'nothing set'],
    [{ abr_enabled: false }, {}, 'off', 'abr_enabled is off and no mode is set'],
    [{}, { abr_enabled: false }, 'off', 'the same by an override'],
    [{ abr_enabled: false, abr_mode: 'protective' }, {}, 'protective', 'an explicit mode takes precedence'],
    [{ abr_enabled: false }, { abr_mode: 'smooth' }, 'smooth', 'even an explicit default mode'],
    [{ abr_enabled: false }, { abr_mode: 'nonsense' }, 'off', 'an invalid mode is ignored'],
  ];
  test.each(cases)('%o and %o → %s: %s', (environment, overrides, expected) => {
    expect(mode(environment, overrides)).toBe(expected);
  });
});
