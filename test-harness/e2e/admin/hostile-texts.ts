import { callAsHost, FakeAgent, softwareCapacity } from '../../src/fake-agent/index.ts';
import { eventually } from '../../src/stack/program.ts';
import type { Stack } from '../../src/stack/stack.ts';

/** Short enough for a username. */
export const SHORT_PAYLOAD = '<img src=x onerror="window.scriptRan=1">';
export const PAYLOAD = `${SHORT_PAYLOAD}<script>window.scriptRan=1</script>`;

const MODE = { width: 640, height: 360, refresh_millihz: 60_000 };

/** A host that reports markup wherever it may report text. */
export async function hostileHost(url: string, token: string): Promise<FakeAgent> {
  const capacity = softwareCapacity();
  const agent = new FakeAgent({
    url,
    nodeName: 'mallory',
    credential: { token },
    register: { agent_version: SHORT_PAYLOAD },
    capacity: {
      ...capacity,
      detection_reason: PAYLOAD,
      host: {
        ...capacity.host,
        cpu_model: PAYLOAD,
        storage: [{ label: SHORT_PAYLOAD, path: `/${PAYLOAD}`, total_mb: 9_000, available_mb: 8_000 }],
      },
      // For a software encoder the page shows a name of its own instead of the model.
      gpus: capacity.gpus.map((gpu) => ({
        ...{ ...gpu, vendor: 'nvidia' as const },
        ...{ model: PAYLOAD, render_node: PAYLOAD },
      })),
      effective_settings: { encoder: PAYLOAD, home_root: `/${PAYLOAD}` },
      console_capabilities: {
        connectors: [SHORT_PAYLOAD],
        outputs: [
          {
            ...{ id: PAYLOAD, card: SHORT_PAYLOAD, render_node: PAYLOAD, connector: SHORT_PAYLOAD },
            ...{ connected: true, active_mode: MODE },
            modes: [
              {
                ...{ name: SHORT_PAYLOAD, ...MODE, preferred: true, interlaced: false },
                ...{ clock_khz: 1, htotal: 1, vtotal: 1 },
              },
            ],
          },
        ],
        audio_sinks: [{ id: PAYLOAD, label: PAYLOAD }],
        input_devices: [{ path: PAYLOAD, label: PAYLOAD }],
      },
      readiness: [
        {
          id: SHORT_PAYLOAD,
          status: SHORT_PAYLOAD.slice(0, 32),
          summary: PAYLOAD,
          remediation: [PAYLOAD],
        },
      ],
    },
  });
  await agent.connect();
  return agent;
}

/** Parts of that host's page, and how many times each shows the markup as text. */
export const HOST_PARTS = {
  // Name and render node.
  'GPUs and encoders': 2,
  // Check, status, summary and remedy.
  Readiness: 2,
  // The effective settings.
  Settings: 2,
  // Display, sound and device.
  'Display on the host': 2,
  // Processor, storage and its path, version.
  Machine: 4,
} as const;

/**
 * Sends an administrator's request that must succeed.
 * @returns its body
 */
type Send = (
  method: string,
  path: string,
  body: object,
) => Promise<Awaited<ReturnType<Stack['call']>>['body']>;

/** Lets the host fail a job, with markup as the reason. */
export async function failJob(stack: Stack, send: Send, agent: FakeAgent): Promise<void> {
  await send('POST', '/v1/admin/jobs/home.gc/run', { host_id: agent.hostId });
  const { runs } = await callAsHost(agent, stack.httpUrl, 'GET', '/v1/agent/jobs/pending');
  await callAsHost(agent, stack.httpUrl, 'POST', '/v1/agent/jobs/report', {
    run_id: runs.find(({ job_id }: { job_id: string }) => job_id === 'home.gc')?.run_id,
    state: 'failed',
    error: PAYLOAD,
    summary: { [SHORT_PAYLOAD]: PAYLOAD },
  });
}

/**
 * Lets the host run a launcher, report a recording and a failed capture of it, and find titles in its home.
 * @param others hosts that must not get the session
 * @returns the session, which keeps running
 */
export async function runLauncher(
  stack: Stack,
  token: string,
  send: Send,
  agent: FakeAgent,
  others: readonly string[],
): Promise<string> {
  await send('PATCH', '/v1/admin/settings', {
    library_discovery_enabled: true,
    flight_recorder_enabled: true,
  });
  for (const id of others) await send('POST', `/v1/hosts/${id}/drain`, {});
  const { app } = await send('POST', '/v1/apps', {
    name: `Launcher ${PAYLOAD}`,
    ...{ library_provider: 'steam', managed_home: true },
    runtime_spec: { args: ['/usr/bin/true'] },
  });
  agent.behaviour.capture = { error: PAYLOAD };
  const { session } = await send('POST', '/v1/sessions', { app_id: app.id });
  const id = session.id as string;
  await eventually('it runs', 30_000, async () => {
    const { body } = await stack.call('GET', `/v1/sessions/${id}`, { token });
    return body.session.state === 'running' || null;
  });
  for (const other of others) await send('POST', `/v1/hosts/${other}/uncordon`, {});
  await send('POST', `/v1/admin/sessions/${id}/capture`, { kind: 'log_tail', params: {} });
  const recording = await send('POST', `/v1/admin/sessions/${id}/recordings`, {});
  agent.report({
    ...{ type: 'session_trace_event', session_id: id, ts: Date.now(), event: 'session.recording' },
    payload: { recording_id: recording.recording_id, state: 'failed', error: PAYLOAD },
  });
  await agent.heard();
  await send('POST', '/v1/admin/library/scan', {});
  const { scans } = await callAsHost(agent, stack.httpUrl, 'GET', '/v1/agent/library/scan-pending');
  const found = { install_dir: PAYLOAD, size_on_disk: 1, state_flags: 4 };
  await callAsHost(agent, stack.httpUrl, 'POST', '/v1/agent/library/scan-report', {
    scan_id: scans[0]?.scan_id,
    ok: true,
    error: PAYLOAD,
    entries: [
      { external_id: '440', name: PAYLOAD, ...found },
      // A tool of the launcher. Tools are never published.
      { external_id: '228980', name: PAYLOAD, ...found },
    ],
  });
  await send('PUT', `/v1/admin/apps/${app.id}/library/rules/441`, { rule: 'ignore', note: PAYLOAD });
  return id;
}
