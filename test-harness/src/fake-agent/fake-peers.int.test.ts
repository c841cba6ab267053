/** A fake agent and a fake control plane, connected with each other, with the clock and the seed of a test. */
import { ManualClock, seededRandom, TEST_EPOCH_MS } from '@footlight/platform/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeControl } from '../fake-control/index.ts';
import { FakeAgent } from './index.ts';

let clock: ManualClock;
let control: FakeControl;
let agent: FakeAgent;

const agentOf = (seed: number) =>
  new FakeAgent({
    url: control.url.href,
    nodeName: 'den',
    credential: { token: 'a-token' },
    clock,
    random: seededRandom(seed),
  });

beforeEach(async () => {
  clock = new ManualClock();
  control = await FakeControl.listen({ clock });
  agent = agentOf(1);
});
afterEach(async () => {
  await agent.drop();
  await control.close();
});

describe('the clock of a test is the clock of its fakes', () => {
  test('an agent stamps its reports and heartbeats with the given clock', async () => {
    await agent.connect();
    agent.reportState('11111111-1111-4111-8111-111111111111', 'running');
    expect(await control.wait('session_state')).toMatchObject({ ts: TEST_EPOCH_MS });
    await clock.pass(5_000);
    expect(await control.wait('heartbeat')).toMatchObject({ ts: TEST_EPOCH_MS + 5_000 });
  });

  test('an agent acknowledges late in the time of the given clock', async () => {
    await agent.connect();
    await control.wait('ack');
    agent.behaviour.ackDelayMs = 60_000;
    const from = control.messages.length;
    const ack = control.command({ type: 'restart' });
    await expect.poll(() => clock.isAwaited(60_000)).toBe(true);
    expect(control.messages.slice(from)).toEqual([]);
    await clock.pass(60_000);
    expect(await ack).toMatchObject({ ok: true });
  });

  test('a slow control plane answers in the time of the given clock', async () => {
    control.options = { ...control.options, delayMs: 3_000 };
    const registered = agent.connect();
    await expect.poll(() => clock.isAwaited(3_000)).toBe(true);
    await clock.pass(3_000);
    expect(await registered).toMatchObject({ type: 'registered', server_ts: TEST_EPOCH_MS });
  });

  test('a control plane that closes ends the link after its time', async () => {
    control.options = { ...control.options, closes: { afterMs: 10_000, code: 1012 } };
    await agent.connect();
    await clock.pass(10_000);
    expect(await agent.closed).toMatchObject({ code: 1012 });
  });
});

describe('an agent without the session of a command', () => {
  const session_id = '11111111-1111-4111-8111-111111111111';
  const app_id = '22222222-2222-4222-8222-222222222222';
  const start = { type: 'session_start', session_id } as const;
  const answer = async (command: Parameters<FakeControl['command']>[0]) => {
    const ack = await control.command(command);
    return ack.ok ? 'ok' : ack.code;
  };
  beforeEach(async () => {
    await agent.connect();
    await control.wait('ack');
  });

  test('refuses the command', async () => {
    expect(await answer(start)).toBe('no_such_session');
    agent.hold({ session_id, app_id, state: 'assigned', started_at: null });
    expect(await answer(start)).toBe('ok');
  });

  test('refuses a change of a session that is ending', async () => {
    agent.hold({ session_id, app_id, state: 'stopping' });
    expect(await answer({ type: 'session_tune', session_id, keyframe: true })).toBe('no_such_session');
  });

  test('accepts a stop, and reports the end', async () => {
    expect(await answer({ type: 'session_stop', session_id, reason: 'user_requested' })).toBe('ok');
    expect(await control.wait('session_state')).toMatchObject({ session_id, state: 'stopped' });
  });

  test('accepts every command if the test says so', async () => {
    agent.behaviour.answer = () => 'ok';
    expect(await answer(start)).toBe('ok');
  });
});

test('a seed repeats the ids of an agent', () => {
  expect(agentOf(7).bootId).toBe(agentOf(7).bootId);
  expect(agentOf(7).bootId).not.toBe(agentOf(8).bootId);
});

test('each frame is shown once on both sides', async () => {
  const frames: string[] = [];
  const seen = (side: string) => (direction: string, text: string) =>
    frames.push(`${side} ${direction} ${(JSON.parse(text) as { type: string }).type}`);
  control.options = {
    ...control.options,
    onFrame: (_node, direction, text) => seen('control')(direction, text),
  };
  agent.options.onFrame = seen('agent');
  await agent.connect();
  await control.wait('ack');
  for (const type of ['register', 'capacity', 'ack']) {
    expect(frames).toContain(`agent sent ${type}`);
    expect(frames).toContain(`control received ${type}`);
  }
  expect(frames.filter((line) => line === 'agent received registered')).toHaveLength(1);
});

test('a control plane that repeats its commands gets the same ack again', async () => {
  control.options = { ...control.options, repeatsCommands: true };
  await agent.connect();
  await control.until(() => control.messages.filter(({ type }) => type === 'ack').length === 2);
  const [first, second] = control.messages.filter(({ type }) => type === 'ack');
  expect(second).toEqual(first);
});
