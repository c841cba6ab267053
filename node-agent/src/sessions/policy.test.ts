import { randomUUID } from 'node:crypto';
import type { SessionAssign } from '@footlight/protocol/agent';
import { assignment } from '@footlight/test-harness/fake-control';
import { describe, expect, test } from 'vitest';
import { type AssignFacts, decideAssign } from './policy.ts';

describe('assignments that a host accepts', () => {
  const host: AssignFacts = {
    processRuntime: true,
    hidden: { dirs: ['/tmp', '/var/tmp'], except: ['/srv/homes', '/tmp/checkout'] },
    containerEngine: false,
    console: 'none',
    homeRoot: '/srv/homes',
    encoderFamily: 'openh264',
    encoders: [
      {
        family: 'openh264',
        gpu_index: 0,
        codec: 'h264',
        available: true,
        max_width: 1920,
        max_height: 1080,
        h264_profiles: ['constrained-baseline'],
        live_bitrate: true,
        live_resize: false,
      },
    ],
    gpus: [0],
  };
  const decide = (change: (assign: SessionAssign) => unknown, facts: Partial<AssignFacts> = {}) => {
    const assign = { ...assignment(['xterm']), id: randomUUID() } as SessionAssign;
    change(assign);
    return decideAssign(assign, { ...host, ...facts })?.code ?? null;
  };
  const beside = (video_topology: 'local_only' | 'dual_output') => (assign: SessionAssign) =>
    Object.assign(assign, { video_topology });
  const FREE_UNENCODED: Partial<AssignFacts> = { console: 'free', encoders: [] };
  const home = (ref: string, provider: 'local' | 'volume' = 'local') => ({
    provider,
    ref,
    container_path: '/home',
  });

  const contained = (app: Partial<SessionAssign['app']>) => (assign: SessionAssign) =>
    Object.assign(assign.app, { image: 'game:latest', args: [], ...app });
  const CONTAINERS_ONLY: Partial<AssignFacts> = { processRuntime: false, containerEngine: true };
  const HOME_VOLUME = 'service-home-0b253cc2-059b-4b22-b34d-5ad7a7949052';

  test.each<[string, (assign: SessionAssign) => unknown, Partial<AssignFacts>, string | null]>([
    ['a plain process', () => undefined, {}, null],
    ['processes forbidden', () => undefined, { processRuntime: false }, 'policy'],
    ['an empty command', (a) => Object.assign(a.app, { args: [''] }), {}, 'policy'],
    ['a program in /tmp', (a) => Object.assign(a.app, { args: ['/tmp/./game/run'] }), {}, 'policy'],
    ['a program of this checkout', (a) => Object.assign(a.app, { args: ['/tmp/checkout/app'] }), {}, null],
    [
      'a program in the shared /tmp',
      (a) => Object.assign(a.app, { args: ['/tmp/run'] }),
      { hidden: { dirs: [], except: [] } },
      null,
    ],
    ['a NUL', (a) => Object.assign(a.app, { args: ['a\0b'] }), {}, 'policy'],
    ['a NUL in a variable', (a) => Object.assign(a.app, { env: { A: '1\0B=2' } }), {}, 'policy'],
    ['a NUL in its name', (a) => Object.assign(a.app, { env: { 'A\0B': '1' } }), {}, 'policy'],
    ['network none', (a) => Object.assign(a.app, { network: 'none' }), {}, null],
    ['network bridge', (a) => Object.assign(a.app, { network: 'bridge' }), {}, null],
    ['an image without an engine', contained({}), {}, 'image_missing'],
    ['an image', contained({}), { containerEngine: true }, null],
    ['an image where processes are forbidden', contained({}), CONTAINERS_ONLY, null],
    ['an image with a NUL in a variable', contained({ env: { A: '1\0B=2' } }), CONTAINERS_ONLY, 'policy'],
    ['an image with a local home', contained({ home: home('/srv/homes/a/b') }), CONTAINERS_ONLY, null],
    ['an image with a home elsewhere', contained({ home: home('/srv/other') }), CONTAINERS_ONLY, 'policy'],
    ['an image with a volume', contained({ home: home(HOME_VOLUME, 'volume') }), CONTAINERS_ONLY, null],
    [
      'a volume that is no home',
      contained({ home: home('postgres-data', 'volume') }),
      CONTAINERS_ONLY,
      'policy',
    ],
    [
      'a home whose container path is a mount option',
      contained({ home: { ...home('/srv/homes/a'), container_path: '/home,source=/etc' } }),
      CONTAINERS_ONLY,
      'policy',
    ],
    [
      'a home over everything',
      contained({ home: { ...home('/srv/homes/a'), container_path: '//' } }),
      CONTAINERS_ONLY,
      'policy',
    ],
    ['a display on a host without one', beside('dual_output'), {}, 'unsupported'],
    ['a display that is turned off', beside('local_only'), { console: 'off' }, 'unsupported'],
    ['a display that another session has', beside('local_only'), { console: 'taken' }, 'busy'],
    ['a display that is free', beside('dual_output'), { console: 'free' }, null],
    ['no encoder, but also streamed', beside('dual_output'), FREE_UNENCODED, 'encoder_unavailable'],
    ['no encoder, local only', beside('local_only'), FREE_UNENCODED, null],
    ['a home', (a) => Object.assign(a.app, { home: home('/srv/homes/a/b') }), {}, null],
    ['the root itself', (a) => Object.assign(a.app, { home: home('/srv/homes') }), {}, 'policy'],
    ['dots', (a) => Object.assign(a.app, { home: home('/srv/homes/a/../../etc') }), {}, 'policy'],
    [
      'a line break',
      (a) => Object.assign(a.app, { home: home('/srv/homes/a\nroot::0:0::/:/bin/sh') }),
      {},
      'policy',
    ],
    ['a volume', (a) => Object.assign(a.app, { home: home('service-home-x', 'volume') }), {}, 'policy'],
    ['no such GPU', (a) => Object.assign(a, { gpu_index: 3 }), {}, 'encoder_unavailable'],
    ['another family', (a) => Object.assign(a, { encoder: 'nvenc' }), {}, 'encoder_unavailable'],
    ['another codec', (a) => Object.assign(a.stream, { codec: 'h265' }), {}, 'encoder_unavailable'],
    ['another profile', (a) => Object.assign(a.stream, { h264_profile: 'high' }), {}, 'encoder_unavailable'],
    ['too large', (a) => Object.assign(a.stream, { width: 3840 }), {}, 'encoder_unavailable'],
  ])('%s', (_name, change, facts, code) => {
    expect(decide(change, facts)).toBe(code);
  });
});
