import { HOST_SETTINGS } from '@footlight/protocol/agent';
import type {
  AccessCheck,
  AdminApp,
  AdminSession,
  Certification,
  Concurrency,
  ConfigSetting,
  EnrollmentToken,
  Entitlement,
  Gpu,
  Host,
  HostConsole,
  HostSettings,
  LaunchProfile,
  RuntimePreset,
  Session,
  StreamProfile,
} from '@footlight/protocol/rest';
import { consoleDefaults } from '@footlight/protocol/rest';

const NOW = Date.now();

export const configCatalog: ConfigSetting[] = HOST_SETTINGS.map(
  ({ path: _path, enum: values, ...setting }) => ({
    ...setting,
    ...(values !== undefined && { enum: [...values] }),
  }),
);

export const hostSettings: HostSettings = {
  resolved: {},
  overrides: { gop: 120, idle_timeout_secs: 0 },
  effective: Object.fromEntries(HOST_SETTINGS.map((setting) => [setting.key, String(setting.default ?? '')])),
  codecs: ['h264'],
  pending_restart: false,
};

const timing = { interlaced: false, clock_khz: 148_500, htotal: 2200, vtotal: 1125 };
export const hostConsole: HostConsole = {
  config: { ...consoleDefaults, enabled: true },
  capabilities: {
    connectors: ['DP-4', 'HDMI-A-1'],
    outputs: [
      {
        id: 'card1:DP-4',
        card: 'card1',
        render_node: '/dev/dri/renderD128',
        connector: 'DP-4',
        connected: true,
        active_mode: null,
        modes: [
          {
            name: '2560x1440',
            width: 2560,
            height: 1440,
            refresh_millihz: 143_912,
            preferred: true,
            ...timing,
          },
          {
            name: '1920x1080',
            width: 1920,
            height: 1080,
            refresh_millihz: 60_000,
            preferred: false,
            ...timing,
          },
        ],
      },
    ],
    audio_sinks: [{ id: 'hdmi', label: 'HDMI of the display' }],
    input_devices: [
      { path: '/dev/input/event3', label: 'A keyboard' },
      { path: '/dev/input/event5', label: 'A controller with a rather long name, as they have' },
    ],
  },
};

/** An instant relative to now, in the format of answers. */
export function ago(ms: number): string {
  return new Date(NOW - ms).toISOString();
}

/** A uuid that is the same for the same number. */
export function id(kind: number, n: number): string {
  return `${String(kind).padStart(8, '0')}-0000-4000-8000-${String(n).padStart(12, '0')}`;
}

const NAMES = [
  'SuperTux',
  'GL Gears',
  'Terminal',
  'Diagnostics',
  'Blender',
  '0 A.D.',
  'Firefox',
  'The Extraordinarily Long Name of a Game Whose Publisher Could Not Decide: Definitive Anniversary Edition',
  'Krita',
  'Steam',
  'Xonotic',
  'LibreOffice',
];

export function app(n: number, part: Partial<AdminApp> = {}): AdminApp {
  const name = n < NAMES.length ? (NAMES[n] ?? '') : `${NAMES[n % 7]} ${n}`;
  return {
    id: id(1, n * 7919),
    name,
    description: `${name} as it runs on a host of this fleet, in the picture it was made for.`,
    cover_url: n === 5 ? 'https://elsewhere.example/cover.jpg' : null,
    hero_url: null,
    kind: (['game', 'desktop', 'launcher'] as const)[n % 5 === 2 ? 1 : n % 11 === 9 ? 2 : 0],
    parent_app_id: null,
    external_source: '',
    external_id: '',
    favourite: n % 9 === 4,
    default_width: 1920,
    default_height: 1080,
    default_fps: 60,
    default_bitrate_kbps: 15000,
    default_profile_id: null,
    profile_policy: 'inherit',
    display_stream: { width: 1920, height: 1080, fps: 60, bitrate_kbps: 15000 },
    enabled: n % 6 !== 3,
    default_vram_mb: 1024,
    default_encode_slots: 1,
    runtime_spec:
      n % 2 === 0 ? { args: ['/usr/games/supertux2'] } : { image: 'registry/app@sha256:00', gpu: true },
    managed_home: true,
    home_container_path: '/home/service',
    home_base: null,
    runtime_preset_id: null,
    launchable_profile_ids: [],
    origin: 'manual',
    library_provider: '',
    library_discovery_suspended: false,
    sessions_30d: (n * 13) % 97,
    ...part,
  };
}

export function session(n: number, part: Partial<Session> = {}): Session {
  return {
    id: id(2, n),
    user_id: id(9, 1),
    app_id: app(n).id,
    host_id: id(3, 1),
    state: 'running',
    state_detail: 'app presented',
    error_message: null,
    failure_code: null,
    end_reason: null,
    app_log_tail: null,
    profile_id: null,
    stream_profile_id: null,
    stream: {
      width: 1920,
      height: 1080,
      fps: 60,
      bitrate_kbps: 15000,
      h264_profile: 'high',
      codec: 'h264',
      playout0_ms: 0,
      mic: false,
      recording: false,
      rungs: [[1920, 1080]],
    },
    codec_decision: null,
    negotiated_codec: 'h264',
    created_at: ago(420_000 + n * 60_000),
    started_at: ago(419_000 + n * 60_000),
    ended_at: null,
    ...part,
  };
}

export const failedSession = session(7, {
  state: 'failed',
  state_detail: 'app booting',
  failure_code: 'app_exited_early',
  error_message: 'the app exited with status 127 before it drew a window',
  app_log_tail: Array.from(
    { length: 40 },
    (_none, line) => `[${line}] error while loading shared libraries: libGL.so.1`,
  ).join('\n'),
  ended_at: ago(30_000),
});

export const atFloor: Partial<Session> = {
  health_state: 'abr_at_floor',
  health_reason: 'not above the lowest rate of 4500 kbit/s for 90 s',
};

export function adminSession(n: number, part: Partial<AdminSession> = {}): AdminSession {
  const names = ['alice', 'bob', 'a-person-with-a-remarkably-long-user-name', 'dana'];
  return {
    ...session(n),
    latest_metrics: {},
    username: names[n % names.length] ?? 'alice',
    app_name: app(n).name,
    host_name: n % 2 === 0 ? 'gpu-01' : 'gpu-02',
    ...part,
  };
}

export function host(n: number, part: Partial<Host> = {}): Host {
  return {
    id: id(3, n),
    node_name: `gpu-0${n}`,
    status: 'online',
    agent_version: '0.1.0',
    cpu_cores: 16,
    mem_mb: 65_536,
    cpu_model: 'AMD EPYC 7313P 16-Core Processor',
    last_registered_at: ago(86_400_000),
    last_heartbeat_at: ago(3_000),
    storage: [{ label: 'Homes', path: '/var/lib/footlight/homes', total_mb: 953_869, available_mb: 411_204 }],
    capacity_detection: 'ok',
    capacity_reason: null,
    readiness: [
      {
        id: 'media_reachability',
        status: 'pass',
        summary: 'No firewall in the way was found.',
        remediation: [],
      },
      {
        id: 'gstreamer',
        status: 'pass',
        summary: 'GStreamer 1.22 with every element needed.',
        remediation: [],
      },
      { id: 'uinput', status: 'skip', summary: 'No gamepads are passed on this host.', remediation: [] },
    ],
    readiness_reported_at: ago(86_400_000),
    capacity: {
      slots_total: 8,
      slots_used: 5,
      vram_mb_total: 24_576,
      vram_mb_used: 9_120,
      active_sessions: 5,
      gpu_count: 2,
    },
    ...part,
  };
}

export const hosts: Host[] = [
  host(1),
  host(2, {
    readiness: [
      {
        id: 'media_reachability',
        status: 'fail',
        summary: 'A firewall drops UDP from other machines, so pictures will not arrive.',
        remediation: ['sudo nft add rule inet filter input udp dport 32768-60999 accept'],
      },
      {
        id: 'gstreamer',
        status: 'pass',
        summary: 'GStreamer 1.22 with every element needed.',
        remediation: [],
      },
    ],
    capacity: {
      slots_total: 3,
      slots_used: 3,
      vram_mb_total: 0,
      vram_mb_used: 0,
      active_sessions: 3,
      gpu_count: 1,
    },
  }),
  host(3, {
    status: 'offline',
    capacity: null,
    capacity_detection: 'unavailable',
    last_heartbeat_at: ago(7_300_000),
  }),
  host(4, {
    status: 'draining',
    capacity: {
      slots_total: 8,
      slots_used: 2,
      vram_mb_total: 24_576,
      vram_mb_used: 9_120,
      active_sessions: 2,
      gpu_count: 1,
    },
  }),
];

export function gpu(n: number, part: Partial<Gpu> = {}): Gpu {
  return {
    gpu_id: id(4, n),
    gpu_index: n,
    vendor: 'NVIDIA',
    model: 'RTX A5000',
    vram_mb_total: 24_564,
    vram_mb_reserved: 0,
    vram_mb_used: 9_120,
    vram_mb_free: 15_444,
    vram_sampled_at: ago(2_000),
    slots_total: 4,
    slots_reserved: 3 - n,
    active_sessions: 3 - n,
    render_node: '/dev/dri/renderD128',
    ...part,
  };
}

export const software = gpu(0, {
  vendor: 'software',
  model: 'OpenH264 on 16 cores',
  vram_mb_total: 0,
  vram_mb_used: null,
  vram_mb_free: null,
  slots_total: 3,
  slots_reserved: 3,
  render_node: null,
});

const certification = (
  n: number,
  part: Pick<Certification, 'stream_profile_id' | 'fps' | 'verdict' | 'encode_ms_p95' | 'output_fps'>,
): Certification => ({
  id: id(21, n),
  gpu_index: 0,
  encoder: 'openh264',
  profile_id: '720p60',
  width: 1280,
  height: 720,
  bitrate_kbps: 6_000,
  encode_ms_p50: 5.1,
  encode_ms_max: 31,
  drop_rate: 0,
  live_write_stable: true,
  sample_window_ms: 18_000,
  sample_count: 19,
  agent_version: '0.1.0',
  measured_at: ago(86_400_000),
  ...part,
});

export const certifications: Certification[] = [
  certification(1, {
    stream_profile_id: '1080p60-h264',
    fps: 60,
    verdict: 'unsafe',
    encode_ms_p95: 24.6,
    output_fps: 41.2,
  }),
  certification(2, {
    stream_profile_id: '720p30-h264',
    fps: 30,
    verdict: 'ok',
    encode_ms_p95: 9.2,
    output_fps: 30,
  }),
  certification(3, {
    stream_profile_id: '720p60-h264',
    fps: 60,
    verdict: 'capped',
    encode_ms_p95: 12.8,
    output_fps: 59.1,
  }),
];

export const concurrency: Concurrency[] = [
  {
    gpu_index: 0,
    encoder: 'openh264',
    stream_profile_id: '720p30-h264',
    bitrate_kbps: 4_000,
    sessions: 3,
    curve: [
      { n: 1, encode_ms_p95: 9.2, output_fps: 30 },
      { n: 2, encode_ms_p95: 14.6, output_fps: 30 },
      { n: 3, encode_ms_p95: 26.1, output_fps: 29.4 },
      { n: 4, encode_ms_p95: 41.7, output_fps: 22.8 },
    ],
    measured_at: ago(86_400_000),
  },
];

export const tokens: EnrollmentToken[] = [
  {
    id: id(5, 1),
    note: 'rack 2, second machine',
    node_name: null,
    created_at: ago(600_000),
    expires_at: ago(-3_000_000),
    used_at: null,
    host_id: null,
  },
  {
    id: id(5, 2),
    note: '',
    node_name: 'gpu-02',
    created_at: ago(90_000_000),
    expires_at: ago(86_000_000),
    used_at: ago(89_000_000),
    host_id: id(3, 2),
  },
];

export function entitlements(appId: string): Entitlement[] {
  const row = {
    app_id: appId,
    app_name: 'SuperTux',
    granted_by: 'admin',
    granted_by_user: id(9, 1),
    source_ref: '',
    created_at: ago(500_000),
  } as const;
  return [
    { ...row, id: id(6, 1), subject_type: 'all', subject_id: null, subject_username: null },
    { ...row, id: id(6, 2), subject_type: 'user', subject_id: id(9, 2), subject_username: 'bob' },
  ];
}

export function rung(rungId: string, part: Partial<StreamProfile> = {}): StreamProfile {
  return {
    id: rungId,
    display_name: 'H.264 · 1080p · 60 FPS',
    codec: 'h264',
    width: 1920,
    height: 1080,
    fps: 60,
    h264_profile: 'constrained-baseline',
    nominal_bitrate_kbps: 8000,
    min_offer_bandwidth_kbps: 9600,
    recommended_offer_bandwidth_kbps: 12_000,
    headroom_factor: 1.5,
    abr_floor_kbps: 3000,
    max_startup_rtt_ms: 0,
    min_decode_height: 1080,
    high_refresh_display: 'none',
    hardware_encoder_required: false,
    browser_client: 'recommended',
    playout0_ms: 50,
    visibility: 'internal',
    ...part,
  };
}

export function launchProfile(profileId: string, part: Partial<LaunchProfile> = {}): LaunchProfile {
  return {
    id: profileId,
    display_name: '1080p · 60 FPS',
    description: 'Full HD for the living room.',
    visibility: 'user',
    sort_order: 55,
    rungs: [{ position: 1, stream_profile: rung('1080p60-h264') }],
    used_by: { apps: [], global_default: false, user_preferences: 0 },
    allowed_by: { apps: 0, alone: 0 },
    warnings: [],
    ...part,
  };
}

export function preset(part: Partial<RuntimePreset> = {}): RuntimePreset {
  return {
    id: id(7, 1),
    name: 'Retro games',
    description: 'What the emulators share',
    image: '',
    args: [],
    env: {},
    mounts: [],
    managed_home: true,
    home_container_path: '/home/service',
    network: '',
    used_by: [],
    created_at: ago(500_000),
    updated_at: ago(400_000),
    ...part,
  };
}

export const accessCheck: AccessCheck = {
  request: {
    host: 'footlight.lan:8443',
    origin: 'https://footlight.lan:8443',
    scheme: 'https',
    tls_terminated_upstream: false,
    secure_context: true,
  },
  certificate: {
    in_use: true,
    host_covered: true,
    advice: 'The certificate is self-signed: browsers warn on every new device until it is trusted there.',
    info: {
      source: 'self_signed',
      fingerprint_sha256:
        'AB:CD:EF:01:23:45:67:89:AB:CD:EF:01:23:45:67:89:AB:CD:EF:01:23:45:67:89:AB:CD:EF:01:23:45:67:89',
      subject: 'CN=service-control',
      issuer: 'CN=service-control',
      not_before: ago(1),
      not_after: ago(-1e11),
      days_until_expiry: 3649,
      dns_names: ['localhost'],
      ip_addresses: ['127.0.0.1'],
      chain_length: 1,
      self_signed: true,
    },
  },
  origins: {
    configured: false,
    source: 'database',
    allowed: [],
    request_origin_allowed: true,
    same_origin_exemption: true,
  },
};
