/** Content of the administrators' pages on an instance of scripts/fake pages, except sessions and hosts. */
import { systemClock } from '@footlight/platform';
import { callAsHost, type FakeAgent } from '../fake-agent/index.ts';
import { eventually } from '../stack/program.ts';

/**
 * Sends an administrator's request.
 * @returns the body of its answer
 */
export type Ask = (
  method: string,
  path: string,
  body?: object,
  // biome-ignore lint/suspicious/noExplicitAny: as ApiClient.ask
) => Promise<any>;

const PASSWORD = 'a-long-enough-pass-phrase';
const LONG_NAME = 'Instruments of an orchestra, arranged for one player and 12 hands';
const ANSWER_LIMIT_MS = 10_000;

/** Adds accounts with every state and role, invites, and the accounts' grants. @returns ids of the accounts */
export async function addPeople(ask: Ask): Promise<string[]> {
  await ask('PATCH', '/v1/admin/settings', { registration_mode: 'invite_only' });
  const { invite } = await ask('POST', '/v1/admin/invites', { note: 'the chess club', max_uses: 8 });
  const ids: string[] = [];
  for (const username of [
    'grace',
    'linus',
    'margaret',
    'katherine-with-a-name-as-long-as-it-goes',
    'edsger',
  ]) {
    const email = `${username}@example.org`;
    const { user } = await ask('POST', '/v1/auth/register', {
      email,
      username,
      password: PASSWORD,
      invite_code: invite.code,
    });
    ids.push(user.id);
  }
  await ask('PATCH', `/v1/users/${ids[1]}`, { role: 'admin' });
  await ask('PATCH', `/v1/users/${ids[2]}`, { disabled: true });
  await ask('POST', '/v1/admin/invites', { note: null, max_uses: 1, expires_at: inDays(7) });
  const { invite: withdrawn } = await ask('POST', '/v1/admin/invites', { note: 'sent to the wrong list' });
  await ask('DELETE', `/v1/admin/invites/${withdrawn.id}`);
  return ids;
}

/** Adds presets, a launch profile with its own rung, and apps that use them. @returns ids of the apps */
export async function addCatalog(ask: Ask, people: readonly string[]): Promise<string[]> {
  const { runtime_preset: preset } = await ask('POST', '/v1/admin/runtime-presets', {
    name: 'Retro games',
    description: 'What the emulators share',
    args: ['--fullscreen'],
    env: { SDL_VIDEODRIVER: 'x11' },
    managed_home: true,
    network: 'none',
  });
  await ask('POST', '/v1/admin/runtime-presets', { name: 'Office', description: 'Keeps files, no network' });
  await ask('POST', '/v1/admin/stream-profiles', {
    ...{ id: 'hall-900p50', display_name: '900p50 for the hall', codec: 'h264' },
    ...{ width: 1600, height: 900, fps: 50, nominal_bitrate_kbps: 9_000 },
  });
  await ask('POST', '/v1/admin/launch-profiles', {
    id: 'hall',
    display_name: 'The hall',
    description: 'For the screen in the hall.',
    rungs: ['hall-900p50', '720p60-h264'],
  });
  const apps: string[] = [];
  for (const [name, more] of [
    [
      'Blender',
      { description: 'Models, scenes and films', default_profile_id: 'hall', profile_policy: 'prefer' },
    ],
    ['SuperTux', { description: 'Jump and run', runtime_preset_id: preset.id }],
    [LONG_NAME, { description: LONG_NAME.repeat(3) }],
  ] as const) {
    const body = { name, ...more, managed_home: true, runtime_spec: { args: ['/usr/bin/true'] } };
    const { app } = await ask('POST', '/v1/apps', body);
    apps.push(app.id);
    for (const subject_id of people.slice(0, 2))
      await ask('POST', `/v1/admin/apps/${app.id}/entitlements`, { subject_type: 'user', subject_id });
  }
  return apps;
}

/** Adds verdicts and curves of the first GPU, as after a sweep. */
export async function certify(ask: Ask, host: FakeAgent): Promise<void> {
  // Measurements use this app.
  await ask('POST', '/v1/apps', { name: 'Diagnostics', runtime_spec: { args: ['/usr/bin/true'] } });
  const path = `/v1/admin/hosts/${host.hostId}/encoder-certification`;
  const of = { gpu_index: 0, encoder: 'nvenc' };
  for (const [stream_profile_id, bitrate_kbps, encodeMs, fps] of [
    ['720p60-h264', 6_000, 4.2, 60],
    ['1080p60-h264', 12_000, 13.1, 59.4],
    ['1080p120-h264', 20_000, 11.7, 81],
  ] as const) {
    const rung = { ...of, stream_profile_id, bitrate_kbps };
    const { session_id } = await ask('POST', `${path}/cells`, rung);
    // Sends the samples of a whole minute, because the verdict ignores the samples of the first seconds.
    for (let second = 0; second < 60; second += 2)
      host.send({
        type: 'session_metrics',
        session_id,
        ts: systemClock.nowMs() - (60 - second) * 1_000,
        window_ms: 2_000,
        metrics: {
          encode_ms: encodeMs,
          encode_ms_p50: encodeMs,
          encode_ms_p95: encodeMs,
          encode_ms_max: encodeMs + 1,
          fps,
          frames_encoded: Math.round(fps * 2),
          frames_dropped: 0,
        },
      });
    await host.heard();
    await ask('POST', `${path}/cells/${session_id}/finalize`);
  }
  for (const [stream_profile_id, bitrate_kbps, firstMs, sessions] of [
    ['720p60-h264', 6_000, 3.9, 3],
    ['1080p60-h264', 12_000, 9.4, 1],
  ] as const) {
    const curve = [1, 2, 3, 4].map((n) => ({
      n,
      encode_ms_p95: firstMs * n ** 1.1,
      output_fps: Math.min(60, 1000 / (firstMs * n ** 1.1)),
    }));
    await ask('PUT', `${path}/concurrency`, { ...of, stream_profile_id, bitrate_kbps, sessions, curve });
  }
}

/**
 * Adds an image that a host has installed, one that it is pulling, one that it could not pull, and one with a newer
 * version.
 */
export async function addImages(ask: Ask, publish: (id: string, version: string) => void, host: FakeAgent) {
  host.behaviour.pull = [];
  await ask('POST', '/v1/admin/images/sync', {});
  for (const id of ['paint', 'steam', 'emulators']) await ask('POST', `/v1/admin/images/${id}/install`, {});
  await host.heard();
  host.reportImage('paint', '1.0.0', { state: 'ready', bytes: 734_003_200 });
  host.reportImage('steam', '1.0.0', { state: 'pulling', progress_pct: 55 });
  host.reportImage('emulators', '1.0.0', { state: 'failed', error: 'no space left on device' });
  publish('paint', '1.1.0');
  await ask('POST', '/v1/admin/images/sync', {});
}

/**
 * Fills the pages of homes, the library and jobs: a launcher with a home on this host, whose titles are published,
 * excluded or hidden; a job that failed; and a home that is being deleted. No other host may accept sessions during the
 * call.
 * @param url of the agents' port
 */
export async function addHomes(ask: Ask, url: string, host: FakeAgent): Promise<void> {
  await ask('PATCH', '/v1/admin/settings', { library_discovery_enabled: true });
  const launcher = { name: 'Steam', library_provider: 'steam', managed_home: true };
  for (const [more, home_bytes] of [
    [launcher, 48_318_382_080],
    [{ name: 'Drawings', managed_home: true }, 312_475_648],
  ] as const) {
    const { app } = await ask('POST', '/v1/apps', { ...more, runtime_spec: { args: ['/usr/bin/true'] } });
    const { session } = await ask('POST', '/v1/sessions', { app_id: app.id });
    const ends = async (state: string) => {
      const read = await ask('GET', `/v1/sessions/${session.id}`);
      return read.session.state === state || null;
    };
    await eventually('an app with a home runs', ANSWER_LIMIT_MS, () => ends('running'));
    host.reportState(session.id, 'stopped', { reason: 'app_exited', home_bytes });
    await eventually('it has ended', ANSWER_LIMIT_MS, () => ends('stopped'));
    if (more === launcher) await findTitles(ask, url, host, app.id);
  }
  const { items } = await ask('GET', '/v1/admin/storage/homes');
  const drawings = items.find((home: { app_name: string }) => home.app_name === 'Drawings');
  await ask('DELETE', `/v1/admin/storage/homes/${drawings.id}`);
  await ask('POST', '/v1/admin/jobs/home.gc/run', { host_id: host.hostId });
  const { runs } = await callAsHost(host, url, 'GET', '/v1/agent/jobs/pending');
  await callAsHost(host, url, 'POST', '/v1/agent/jobs/report', {
    run_id: runs[0].run_id,
    state: 'failed',
    error: 'The directory of homes cannot be read.',
    summary: {},
  });
}

async function findTitles(ask: Ask, url: string, host: FakeAgent, appId: string): Promise<void> {
  await ask('PUT', `/v1/admin/apps/${appId}/library/rules/441`, { rule: 'ignore', note: 'a benchmark' });
  await ask('POST', '/v1/admin/library/scan', {});
  const { scans } = await callAsHost(host, url, 'GET', '/v1/agent/library/scan-pending');
  const found = { install_dir: 'steamapps', size_on_disk: 12_884_901_888, state_flags: 4 };
  await callAsHost(host, url, 'POST', '/v1/agent/library/scan-report', {
    scan_id: scans[0].scan_id,
    ok: true,
    entries: [
      ['440', 'Team Fortress 2'],
      ['441', 'A benchmark'],
      ['620', 'Portal 2'],
      // A tool of the launcher. Tools are never published.
      ['228980', 'Steamworks Common Redistributables'],
    ].map(([external_id, name]) => ({ external_id, name, ...found })),
  });
}

/** Adds samples, a note, captures and a recording to a running session, as after a minute of bad quality. */
export async function diagnose(ask: Ask, host: FakeAgent, sessionId: string): Promise<void> {
  const nowMs = systemClock.nowMs();
  await ask('POST', `/v1/sessions/${sessionId}/stats`, { samples: watchedMinute(nowMs) });
  const session = `/v1/admin/sessions/${sessionId}`;
  await ask('POST', `${session}/trace/annotations`, {
    ts_unix_ms: nowMs - 20_000,
    label: 'She says that it stutters here',
    tags: ['phone call'],
  });
  await ask('POST', `${session}/capture`, { kind: 'pipeline_dot', params: {} });
  const { recording_id } = await ask('POST', `${session}/recordings`);
  host.report({
    ...{ type: 'session_trace_event', session_id: sessionId, ts: nowMs, event: 'session.recording' },
    payload: { recording_id, state: 'ready', bytes: 31_457_280, duration_ms: 60_000 },
  });
  await host.heard();
}

/** Samples of a viewer up to now, one per second, with a network that gets worse. */
function watchedMinute(nowMs: number): object[] {
  return Array.from({ length: 60 }, (_, n) => ({
    ts_unix_ms: nowMs - (60 - n) * 1_000,
    metrics: {
      fps: 60 - n / 4,
      present_n: 59,
      present_interval_sd_ms: 2 + n / 5,
      rtt_ms: 20 + n,
      packets_lost: n < 30 ? 0 : (n - 30) * 2,
      is_hidden: false,
      click_to_photon_ms: 45 + n,
      click_to_photon_n: 1,
    },
  }));
}

/**
 * Reports the load of a machine; the load rises and falls in a wave.
 * @param nowMs time within the wave
 */
export function tellLoad(host: FakeAgent, nowMs: number): void {
  const wave = (1 + Math.sin(nowMs / 30_000 + host.options.nodeName.length)) / 2;
  host.heartbeat({
    cpu_busy: 0.15 + 0.7 * wave,
    mem_free_mb: Math.round(12_000 - 6_000 * wave),
    net: { rx_kbps: Math.round(400 + 300 * wave), tx_kbps: Math.round(42_000 * wave) },
    encoder_load: host.capacity.gpus.map(({ index }) => ({
      gpu_index: index,
      sessions: 1,
      load: wave / (index + 1),
    })),
  });
}

const inDays = (days: number): string =>
  new Date(systemClock.nowMs() + days * 24 * 60 * 60 * 1000).toISOString();
