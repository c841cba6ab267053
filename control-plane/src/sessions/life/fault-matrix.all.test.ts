import { reservesSlots } from '@footlight/protocol';
import type { Session } from '@footlight/protocol/rest';
import { type FakeAgent, honest } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

/** A command that the host receives. report: it acknowledges the start and reports nothing more. */
type StepName = 'assign' | 'start' | 'report' | 'swap' | 'stop';

/**
 * The reaction of the host. disconnects: the link breaks before the answer, and the same agent process reconnects.
 * dies: another process reconnects. stays away: no process reconnects.
 */
type Fault = 'refuses' | 'stays silent' | 'disconnects' | 'dies' | 'stays away';

const COMMAND = {
  assign: 'session_assign',
  start: 'session_start',
  report: 'session_start',
  swap: 'session_swap_app',
  stop: 'session_stop',
} as const;

const RESTARTED: Partial<Session> = {
  state: 'failed',
  state_detail: 'host_lost',
  error_message: 'session not present after the agent reconnected',
  failure_code: 'agent_restarted',
  end_reason: 'host_lost',
};
const LOST: Partial<Session> = {
  state: 'failed',
  state_detail: 'host_lost',
  error_message: 'host agent did not return within the grace window',
  failure_code: null,
  end_reason: 'host_lost',
};
const OLD_APP: Partial<Session> = { state: 'running', app_id: 'old', error_message: null, end_reason: null };
const NO_ERROR = { error_message: null, failure_code: null };

/** For each step and fault: maximum duration in seconds, and the session afterwards. */
const MATRIX: [StepName, Fault, number, Partial<Session>][] = [
  ['assign', 'refuses', 0, { state: 'failed', end_reason: 'assign_refused', failure_code: 'internal' }],
  ['assign', 'stays silent', 10, { state: 'failed', state_detail: 'assign timed out' }],
  ['assign', 'disconnects', 0, { ...RESTARTED, failure_code: null }],
  ['assign', 'dies', 0, RESTARTED],
  ['assign', 'stays away', 750, LOST],
  ['start', 'refuses', 0, { state: 'failed', end_reason: 'start_refused', failure_code: 'internal' }],
  ['start', 'stays silent', 10, { state: 'failed', state_detail: 'start timed out' }],
  // A prepared session is started when the host reconnects.
  ['start', 'disconnects', 0, { state: 'running', error_message: null }],
  ['start', 'dies', 0, RESTARTED],
  ['start', 'stays away', 750, LOST],
  ['report', 'stays silent', 90, { state: 'failed', state_detail: 'start timed out' }],
  ['report', 'disconnects', 0, { state: 'running', error_message: null }],
  ['report', 'dies', 0, RESTARTED],
  ['report', 'stays away', 750, LOST],
  ['swap', 'refuses', 0, { ...OLD_APP, state_detail: 'swap rejected' }],
  ['swap', 'stays silent', 10, { ...OLD_APP, state_detail: 'swap rejected' }],
  ['swap', 'disconnects', 0, { ...OLD_APP, state_detail: 'host_reconnected' }],
  ['swap', 'dies', 0, { ...RESTARTED, app_id: 'old' }],
  ['swap', 'stays away', 750, { ...LOST, app_id: 'old' }],
  ['stop', 'refuses', 150, { state: 'stopped', state_detail: 'stop timed out', ...NO_ERROR }],
  ['stop', 'stays silent', 150, { state: 'stopped', state_detail: 'stop timed out', ...NO_ERROR }],
  ['stop', 'disconnects', 0, { state: 'stopped', end_reason: 'user_requested', ...NO_ERROR }],
  ['stop', 'dies', 0, { state: 'stopped', state_detail: 'host_lost', ...NO_ERROR }],
  ['stop', 'stays away', 750, { state: 'stopped', state_detail: 'host_lost', ...NO_ERROR }],
];

/** Hosts that stay away take 750 s of the test's clock, in which all other agents send each heartbeat. */
const rows =
  process.env.FOOTLIGHT_LONG === '1' ? MATRIX : MATRIX.filter(([, fault]) => fault !== 'stays away');

/** Slots of the GPU that other sessions use, so that a slot that is freed twice would be detected. */
const OTHERS = 2;

describeDatabases('a host that fails at a step', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  /** One host is connected all the time, so that the sweep of lost hosts is not paused. */
  let bystander: FakeAgent;
  const others: string[] = [];
  let hosts = 0;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    bystander = await world.host('bystander', { features: [] });
    await world.pass(60_000, bystander);
  });
  beforeEach(async () => {
    hosts += 1;
    agent = await world.host(`host-${hosts}`);
  });
  afterEach(async () => {
    Object.assign(agent.behaviour, honest);
    await world.plane.platform.database.db.deleteFrom('sessions').where('id', 'in', others).execute();
    for (const id of others.splice(0)) bystander.sessions.delete(id);
    for (const { id } of await world.list('?state=active')) {
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${id}`);
      await world.until(id, 'stopped');
    }
    await agent.drop();
  });
  afterAll(() => world.close());

  /** Adds sessions that use slots of the same GPU and that another host keeps alive. */
  async function holdForOthers(): Promise<void> {
    const app = await world.app();
    const { db } = world.plane.platform.database;
    const hostId = agent.hostId as string;
    for (let n = 0; n < OTHERS; n += 1) others.push(await world.runsOn(bystander, world.people.bob, app));
    await db
      .updateTable('sessions')
      .set((eb) => ({ gpu_id: eb.selectFrom('gpus').select('id').where('host_id', '=', hostId) }))
      .where('id', 'in', others)
      .execute();
    await db.updateTable('gpus').set({ slots_used: OTHERS }).where('host_id', '=', hostId).execute();
  }

  /**
   * Prepares the fault. The promise resolves when the fault has happened and, if the fault includes it, the host has
   * disconnected.
   */
  function arm(step: StepName, fault: Fault): Promise<void> {
    return new Promise((resolve) => {
      agent.behaviour.answer = (command) => {
        if (command.type !== COMMAND[step]) return 'ok';
        if (step === 'report') agent.behaviour.launch = [];
        // The answer is sent before the host disconnects.
        setImmediate(() => resolve(leave(fault)));
        if (step === 'report') return 'ok';
        return fault === 'refuses' ? { code: 'internal' } : 'silence';
      };
    });
  }

  async function leave(fault: Fault): Promise<void> {
    if (fault === 'dies') await agent.crash();
    if (fault === 'disconnects' || fault === 'stays away') await agent.drop();
  }

  async function comeBack(): Promise<void> {
    await world.offline(agent);
    Object.assign(agent.behaviour, honest);
    await world.reconnect(agent);
  }

  /** Runs a session up to the step in which the host fails. */
  async function runInto(step: StepName, fault: Fault): Promise<{ id: string; old: string }> {
    const { alice } = world.people;
    const old = await world.app();
    if (step === 'assign' || step === 'start' || step === 'report') {
      const trapped = arm(step, fault);
      const { body } = await world.launch(alice, old);
      await trapped;
      return { id: body.session.id, old };
    }
    const { id } = await world.running(alice, old);
    const target = await world.app();
    const trapped = arm(step, fault);
    if (step === 'stop') await world.call(alice, 'DELETE', `/v1/sessions/${id}`);
    else await world.call(alice, 'POST', `/v1/sessions/${id}/swap`, { body: { app_id: target } });
    await trapped;
    return { id, old };
  }

  describe.each(rows)('%s: the host %s', (step, fault, withinSecs, expected) => {
    test(`within ${withinSecs} s: ${expected.state}, ${expected.state_detail ?? expected.end_reason ?? ''}`, async () => {
      await holdForOthers();
      const { id, old } = await runInto(step, fault);
      const speaking = fault === 'stays silent' || fault === 'refuses' ? [agent, bystander] : [bystander];
      if (fault === 'disconnects' || fault === 'dies') await comeBack();
      // Wait until the host's answers are handled, before the time advances.
      if (agent.isOpen) await agent.heard();
      await world.pass(withinSecs * 1_000, ...speaking);
      const wanted = { ...expected, ...(expected.app_id === 'old' && { app_id: old }) };
      const session = await eventually(`${expected.state}, ${expected.state_detail ?? ''}`, async () => {
        const now = await world.session(id);
        const reached = now.state === expected.state && !isOnItsWay(now, expected);
        return reached ? now : undefined;
      });
      expect(session).toMatchObject(wanted);

      expect(await world.slotsUsed(agent)).toBe(OTHERS + (reservesSlots(session.state) ? 1 : 0));
      if (fault === 'stays away') return;
      // Later reports about the session do not free its slots a second time.
      agent.reportState(id, 'stopped', { reason: 'orphaned' });
      agent.reportState(id, 'failed', { error: 'late' });
      await eventually('the late reports were handled', () => (agent.unseen === 0 ? true : undefined));
      expect(await world.slotsUsed(agent)).toBe(OTHERS);
      expect(
        (await world.activity('session.failed')).filter(({ target_id }) => target_id === id),
      ).toHaveLength(session.state === 'failed' ? 1 : 0);
    });
  });
});

/** Whether the state is the expected one, but its text has not arrived yet. */
const isOnItsWay = (now: Session, expected: Partial<Session>): boolean =>
  expected.state_detail !== undefined && now.state_detail !== expected.state_detail;
