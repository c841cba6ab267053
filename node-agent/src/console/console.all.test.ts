import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConsoleCapabilities, ConsoleConfig, VideoTopology } from '@footlight/protocol/agent';
import { consoleDefaults } from '@footlight/protocol/rest';
import { assignment, FakeControl } from '@footlight/test-harness/fake-control';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { Agent } from '../agent.ts';
import type { HelperDeps, HelperOptions } from '../display/helper.ts';
import { type Display, type StartDisplay, startXServer, startXvfb } from '../display/xvfb.ts';
import { type Assignment, HostedSessions } from '../testing/hosted-sessions.ts';
import { LAST_WORDS, playedXServer } from '../testing/played-x-server.ts';
import { startTestAgent } from '../testing/test-agent.ts';
import { type DisplayTrace, NO_TRACES, processesOf, tracesOf } from '../testing/traces.ts';
import type { ConsoleScreens } from './host-console.ts';
import type { ChosenOutput } from './output-choice.ts';

const UIDS: [number, number] = [71_080, 71_089];

/** A monitor with 800 × 600 pixels; a virtual display replaces its connector. */
class PlayedMonitor implements ConsoleScreens {
  readonly story: string[] = [];
  readonly traces: DisplayTrace[] = [];
  isPlugged = true;
  startDisplay: StartDisplay = startXvfb;
  #shown: Display | null = null;

  lacks(): null {
    return null;
  }

  async read(): Promise<ConsoleCapabilities> {
    const output = { id: 'card1:DP-4', card: 'card1', connector: 'DP-4', connected: this.isPlugged };
    return {
      connectors: ['DP-4'],
      outputs: [{ ...output, render_node: null, active_mode: null, modes: [] }],
      audio_sinks: [],
      input_devices: [],
    };
  }

  async open(
    output: ChosenOutput,
    options: HelperOptions,
    cookie: Buffer,
    deps: HelperDeps,
  ): Promise<Display> {
    const display = await this.startDisplay({ ...options, width: 800, height: 600 }, cookie, deps);
    this.story.push(`${output.connector} shows`);
    this.traces.push({ number: display.number, socket: display.record.socket });
    this.#shown = display;
    void display.exited.then(() => this.story.push(`${output.connector} is free`));
    return display;
  }

  reclaim(): void {
    this.story.push('the leftover console is released');
  }

  die(signal: NodeJS.Signals = 'SIGKILL'): void {
    process.kill(this.#shown?.record.pid ?? Number.NaN, signal);
  }
}

const monitor = new PlayedMonitor();
let control: FakeControl;
let agent: Agent;
let stateDir: string;
let sessions: HostedSessions;

async function startAgent(): Promise<void> {
  const place = { control, stateDir: join(stateDir, 'state'), uids: UIDS };
  agent = await startTestAgent(place, {}, { displays: monitor, screens: monitor });
}

beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'footlight-console-'));
  await chmod(stateDir, 0o711);
  control = await FakeControl.listen();
  sessions = new HostedSessions(control, join(stateDir, 'state'), UIDS);
  await startAgent();
  await control.wait('heartbeat');
});
afterEach(async () => {
  monitor.isPlugged = true;
  monitor.startDisplay = startXvfb;
  monitor.story.length = 0;
  const ids = control.messages.flatMap((each) => (each.type === 'session_state' ? [each.session_id] : []));
  // Polled, because a session's record is removed only after the search for its user's files, which may end after the
  // session.
  const traces = () => tracesOf(join(stateDir, 'state'), UIDS, monitor.traces, ids);
  await vi.waitFor(async () => expect(await traces()).toEqual(NO_TRACES), 20_000);
});
afterAll(async () => {
  await agent?.stop();
  await control?.close();
  await rm(stateDir, { recursive: true, force: true });
});

const beside = (video_topology: VideoTopology, app = ['xterm']) => assignment(app, { video_topology });

async function turn(config: Partial<ConsoleConfig> | null): Promise<void> {
  const console_config = config && { ...consoleDefaults, enabled: true, ...config };
  expect(await control.command({ type: 'config_update', settings: {}, console_config })).toMatchObject({
    ok: true,
  });
}

async function presented(body: Assignment): Promise<void> {
  expect(await sessions.reached(body, 'app presented')).toMatchObject({ state: 'running' });
}

test('registers that it can show sessions on a display of the host', async () => {
  expect((await control.wait('register')).features).toContain('console');
});

test('local only: from assignment to picture without an encoder, and then the display is free again', async () => {
  await turn({});
  const body = beside('local_only');
  await sessions.launch(body);
  await presented(body);
  expect(sessions.details(body)).toEqual([
    'preparing home',
    'starting display',
    'starting app',
    'app booting',
    'app presented',
  ]);
  expect(monitor.story).toEqual(['DP-4 shows']);
  expect(await control.command(beside('local_only'))).toMatchObject({ ok: false, code: 'busy' });
  await sessions.stop(body, 'console_display_disconnected');
  expect(monitor.story).toEqual(['DP-4 shows', 'DP-4 is free']);
});

test('also streamed: the picture of the display is encoded at any size', async () => {
  await turn({ stream: true });
  const body = beside('dual_output');
  await sessions.launch(body);
  await presented(body);
  expect(sessions.details(body)).toContain('starting encoder');
  const event = await control.wait(
    'session_trace_event',
    ({ session_id, event }) => session_id === body.session_id && event === 'caps.negotiated',
  );
  expect(event.payload).toMatchObject({ size: { w: 640, h: 480 } });
  const change = { session_id: body.session_id, render_width: 320, render_height: 240 };
  expect(await control.command({ type: 'session_display_update', ...change })).toMatchObject({
    ok: false,
    code: 'display_update_rejected',
  });
  await sessions.stop(body, 'console_disabled');
  expect(monitor.story).toEqual(['DP-4 shows', 'DP-4 is free']);
});

test('a display that dies fails its session, and the next one gets it', async () => {
  await turn({});
  const body = beside('local_only');
  await sessions.launch(body);
  await presented(body);
  monitor.die();
  expect(await sessions.ended(body)).toMatchObject({ failure_code: 'display_failed' });
  const next = beside('local_only');
  await sessions.launch(next);
  await presented(next);
  await sessions.stop(next, 'console_disabled');
  expect(monitor.story).toEqual(['DP-4 shows', 'DP-4 is free', 'DP-4 shows', 'DP-4 is free']);
});

test('a display that dies before its first answer is reported as the failure, although the app ended first', async () => {
  await turn({});
  const program = playedXServer(stateDir);
  monitor.startDisplay = (options, cookie, deps) =>
    startXServer([program, 'listens'], {}, options, cookie, deps);
  const body = beside('local_only', ['/bin/sh', '-c', 'sleep 61; exit 0']);
  await sessions.launch(body);
  const app = () => processesOf(body.session_id).filter(({ command }) => command.includes('sleep 61'));
  const innermost = () => app().find(({ command }) => command === 'sleep 61')?.pid;
  await expect.poll(innermost).toBeDefined();
  process.kill(innermost() ?? Number.NaN, 'SIGKILL');
  await expect.poll(app).toEqual([]);
  // After this turn of the event loop, the agent, which runs in this process, has reaped the child process.
  await new Promise(setImmediate);
  monitor.die('SIGUSR1');
  expect(await sessions.ended(body)).toMatchObject({
    failure_code: 'display_failed',
    error: expect.stringContaining(LAST_WORDS),
  });
});

test('with no display plugged in the session fails and releases the console', async () => {
  await turn({});
  monitor.isPlugged = false;
  const body = beside('local_only');
  await sessions.launch(body);
  expect(await sessions.ended(body)).toMatchObject({ failure_code: 'display_failed' });
  monitor.isPlugged = true;
  const next = beside('local_only');
  await sessions.launch(next);
  await presented(next);
  await sessions.stop(next, 'console_disabled');
});

test('disabled during a session: the session continues until it is stopped, and no other can start', async () => {
  await turn({});
  const body = beside('local_only');
  await sessions.launch(body);
  await presented(body);
  await turn({ enabled: false });
  expect(monitor.story).toEqual(['DP-4 shows']);
  expect(await control.command(beside('local_only'))).toMatchObject({ ok: false, code: 'unsupported' });
  await sessions.stop(body, 'console_disabled');
  expect(await control.command(beside('local_only'))).toMatchObject({ ok: false, code: 'unsupported' });
});

test('during an outage of the control plane the session stays on the display', async () => {
  await turn({});
  const body = beside('local_only');
  await sessions.launch(body);
  await presented(body);
  const { port } = control;
  await control.close();
  control = await FakeControl.listen({}, port);
  sessions = new HostedSessions(control, join(stateDir, 'state'), UIDS);
  const register = await control.wait('register');
  expect(register.sessions).toMatchObject([{ session_id: body.session_id, state: 'running', viewer: false }]);
  expect(monitor.story).toEqual(['DP-4 shows']);
  await sessions.stop(body, 'console_display_disconnected');
});

test('a restart of the agent ends the session, and the next agent starts with a free display', {
  timeout: 60_000,
}, async () => {
  await turn({});
  const body = beside('local_only');
  await sessions.launch(body);
  await presented(body);
  const from = control.messages.length;
  await agent.stopForRestart();
  expect(monitor.story).toEqual(['DP-4 shows', 'DP-4 is free']);
  await startAgent();
  const register = await control.wait('register', () => true, from);
  expect(register).toMatchObject({ sessions: [], features: expect.arrayContaining(['console']) });
  await turn({});
  const next = beside('local_only');
  await sessions.launch(next);
  await presented(next);
  await sessions.stop(next, 'console_disabled');
});

test('a disabled console refuses sessions', async () => {
  await turn(null);
  expect(await control.command(beside('local_only'))).toMatchObject({ ok: false, code: 'unsupported' });
});
