import { describe, expect, test } from 'vitest';
import type { ScreenNeed } from '../console/host-console.ts';
import { softwareGpu } from '../probe/gpus.ts';
import { type ReadinessFacts, readinessChecks } from './checks.ts';
import type { Firewall } from './firewall-verdict.ts';

const GIB = 2 ** 30;

const HEALTHY: ReadinessFacts = {
  root: true,
  user: 'streamer',
  processRuntime: true,
  containers: { kind: 'off' },
  gpus: [{ index: 0, ...softwareGpu('Test CPU') }],
  gpuProblem: null,
  encoderFamily: 'openh264',
  encoders: [
    {
      family: 'openh264',
      gpu_index: 0,
      codec: 'h264',
      available: true,
      live_bitrate: true,
      live_resize: false,
    },
  ],
  missingPrograms: [],
  unreadableRenderNodes: [],
  uinputWritable: true,
  storage: [],
  stateDisk: { path: '/var/lib/service-agent', freeBytes: 50 * GIB, totalBytes: 100 * GIB },
  unwritable: [],
  homeProblems: [],
  cgroupsWritable: true,
  limitsWanted: true,
  isolated: true,
  appNetwork: { kind: 'own' },
  clock: { offset_ms: 3, rtt_ms: 1 },
  mdnsProblem: null,
  mediaAddresses: ['10.0.0.2'],
  firewall: { kind: 'open' },
  mediaFallback: { port: 8444, udp: { kind: 'open' }, tcp: { kind: 'open' } },
  console: { wanted: 'weston', lacks: null },
  settingsProblems: [],
  settingsAwaitingRestart: [],
};

function check(id: string, facts: Partial<ReadinessFacts>) {
  return readinessChecks({ ...HEALTHY, ...facts }).find((row) => row.id === id);
}

describe('the display of the host', () => {
  const found = (console: ReadinessFacts['console']) => check('console_display', { console });

  test('is skipped if the console is disabled, whatever is missing', () => {
    expect(found({ wanted: null, lacks: 'programs' })).toMatchObject({ status: 'skip', remediation: [] });
  });

  test('with an unsupported compositor: names the one to choose', () => {
    expect(found({ wanted: 'cage', lacks: null })).toMatchObject({
      status: 'fail',
      remediation: ['Choose weston for the display on the page of this host.'],
    });
  });

  test.each<[ScreenNeed, RegExp]>([
    ['connector', /driver of the card/],
    ['root', /as root/],
    ['programs', /^apt-get install weston xwayland$/],
    ['card', /\/dev\/dri/],
    ['terminal', /footlight-agent install/],
  ])('without %s: reports it with a remedy', (lacks, remedy) => {
    const row = found({ wanted: 'weston', lacks });
    expect(row?.status).toBe('fail');
    expect(row?.remediation[0]).toMatch(remedy);
  });
});

describe('the network of apps', () => {
  test.each<[Partial<ReadinessFacts>, string, RegExp]>([
    [{}, 'pass', /of its own/],
    [{ appNetwork: { kind: 'not_installed' } }, 'fail', /reach its loopback, .* metadata/],
    [{ appNetwork: { kind: 'no_namespaces' } }, 'fail', /reach its loopback, .* metadata/],
    [{ appNetwork: { kind: 'fails', why: 'no tun' } }, 'fail', /no network but their own loopback: no tun/],
    [{ root: false, appNetwork: { kind: 'no_namespaces' } }, 'skip', /this host's network/],
    [{ processRuntime: false }, 'skip', /not allowed/],
  ])('%j: %s', (facts, status, words) => {
    const row = check('app_network', facts);
    expect(row).toMatchObject({ status, summary: expect.stringMatching(words) });
  });
});

describe('readiness', () => {
  test('a healthy host fails nothing', () => {
    expect(readinessChecks(HEALTHY).filter(({ status }) => status === 'fail')).toEqual([]);
  });

  test.each<[string, Partial<ReadinessFacts>]>([
    ['media_reachability', { mediaAddresses: [] }],
    [
      'media_reachability',
      { firewall: { kind: 'filtered', ports: '5353', where: 'nftables', remedy: 'nft insert rule …' } },
    ],
    [
      'media_fallback',
      {
        mediaFallback: {
          port: 8444,
          udp: { kind: 'open' },
          tcp: { kind: 'filtered', ports: '8444', where: 'nftables', remedy: 'nft insert rule …' },
        },
      },
    ],
    ['container_runtime', { containers: { kind: 'fails', summary: 'no engine', mend: ['start it'] } }],
    ['gpu_driver', { gpuProblem: 'nvidia-smi failed' }],
    [
      'render_node_access',
      {
        gpus: [{ index: 0, ...softwareGpu(''), vendor: 'amd', renderNode: '/dev/dri/by-path/x' }],
        unreadableRenderNodes: ['/dev/dri/by-path/x'],
      },
    ],
    ['encoder_probe', { encoders: [] }],
    ['input_devices', { uinputWritable: false }],
    ['audio_server', { missingPrograms: ['pulseaudio'] }],
    ['storage_free', { stateDisk: { path: '/x', freeBytes: 9 * GIB, totalBytes: 20 * GIB } }],
    ['storage_free', { stateDisk: { path: '/x', freeBytes: 50 * GIB, totalBytes: 1000 * GIB } }],
    ['storage_free', { unwritable: ['/srv/homes'] }],
    ['storage_trash', { homeProblems: ['/srv/homes/a/b: a file system is mounted at /srv/homes/a/b/c'] }],
    ['app_limits', { cgroupsWritable: false }],
    ['app_limits', { isolated: false }],
    ['app_network', { appNetwork: { kind: 'no_namespaces' } }],
    ['app_network', { appNetwork: { kind: 'not_installed' } }],
    ['app_network', { appNetwork: { kind: 'fails', why: 'no /dev/net/tun' } }],
    ['clock_offset', { clock: { offset_ms: -501, rtt_ms: 1 } }],
    ['mdns_resolution', { mdnsProblem: 'no multicast' }],
    ['settings', { settingsAwaitingRestart: ['encoder'] }],
    ['settings', { settingsProblems: ['gop: expected a whole number from 1'] }],
  ])('%s fails with a remedy: %j', (id, facts) => {
    const row = check(id, facts);
    expect(row?.status).toBe('fail');
    expect(row?.remediation.length).toBeGreaterThan(0);
  });

  test('without an engine apps may run as processes, and the remedy says how to allow it', () => {
    const containers = { kind: 'fails' as const, summary: 'no engine', mend: ['start it'] };
    expect(check('container_runtime', { containers })?.remediation).toEqual(['start it']);
    expect(check('container_runtime', { containers, processRuntime: false })?.remediation).toEqual([
      'start it',
      expect.stringMatching(/^Or, .*let apps run as processes:$/),
      'SERVICE_PROCESS_RUNTIME=1 footlight-agent install',
    ]);
  });

  test('commands stand alone, so that they can be copied; sentences end with a full stop', () => {
    const node = '/dev/dri/renderD128';
    const closed = check('render_node_access', {
      gpus: [{ index: 0, ...softwareGpu(''), vendor: 'amd', renderNode: node }],
      unreadableRenderNodes: [node],
    });
    expect(closed?.remediation).toEqual(['usermod -aG video,render streamer', 'Then start the agent again.']);
    const uinput = check('input_devices', { uinputWritable: false })?.remediation;
    expect(uinput?.[0]).toBe('modprobe uinput && echo uinput > /etc/modules-load.d/uinput.conf');
    expect(uinput).not.toContain('usermod -aG input streamer');
    expect(check('input_devices', { uinputWritable: false, root: false })?.remediation).toContain(
      'usermod -aG input streamer',
    );
  });

  test('no firewall tool answered, missing or refused: not listed', () => {
    expect(check('media_reachability', { firewall: { kind: 'unanswered', why: null } })).toBeUndefined();
    expect(check('media_reachability', { firewall: { kind: 'unanswered', why: 'nft: no' } })).toBeUndefined();
  });

  test('a firewall tool answered but its rules cannot be judged: unknown, with a hint what to check', () => {
    const firewall = { kind: 'unknown', why: 'odd rules', ports: '5353, 32768-60999' } as const;
    expect(check('media_reachability', { firewall })).toMatchObject({
      status: 'unknown',
      summary: 'Whether the firewall lets viewers in cannot be told: odd rules.',
      remediation: [expect.stringContaining('let in UDP ports 5353, 32768-60999')],
    });
  });

  test('a closed fallback port fails only its own check, with a command for each transport', () => {
    const closed = (remedy: string) =>
      ({ kind: 'filtered', ports: '8444', where: 'nftables', remedy }) as const;
    const both = { port: 8444, udp: closed('open udp'), tcp: closed('open tcp') };
    expect(check('media_fallback', { mediaFallback: both })).toMatchObject({
      summary: expect.stringContaining('port 8444 (UDP, TCP)'),
      remediation: ['open udp', 'open tcp'],
    });
    const onlyTcp = { ...both, udp: { kind: 'open' } as const };
    expect(check('media_fallback', { mediaFallback: onlyTcp })?.remediation).toEqual(['open tcp']);
    expect(check('media_reachability', { mediaFallback: both })?.status).toBe('pass');
  });

  test('the fallback port is skipped when it is off or no tool answered, and unknown when the rules are', () => {
    const both = (firewall: Firewall) => ({ mediaFallback: { port: 8444, udp: firewall, tcp: firewall } });
    expect(check('media_fallback', { mediaFallback: null })?.status).toBe('skip');
    expect(check('media_fallback', both({ kind: 'unanswered', why: null }))?.status).toBe('skip');
    const unknown = both({ kind: 'unknown', why: 'odd rules', ports: '8444' });
    expect(check('media_fallback', unknown)).toMatchObject({ status: 'unknown' });
  });

  test('checks without facts are skipped, not failed', () => {
    expect(check('clock_offset', { clock: null })?.status).toBe('skip');
    expect(check('storage_free', { stateDisk: null })?.status).toBe('skip');
    expect(check('app_limits', { root: false })?.status).toBe('skip');
  });
});
