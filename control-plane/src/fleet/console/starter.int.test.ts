import { displayCapacity, type FakeAgent, type FakeAgentOptions } from '@footlight/test-harness';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ApiError } from '../../platform/errors.ts';
import { describeDatabases, ManualClock } from '../../testing/index.ts';
import { hostSubjects } from '../subjects.ts';
import { type FleetWorld, openFleetWorld } from '../testing/world.ts';
import type { ConsoleLaunch, ConsoleSession, ConsoleSessions } from './starter.ts';

const APP = '00000000-0000-4000-8000-000000000001';
const BEAT_MS = 5_000;
const USER = '00000000-0000-4000-8000-000000000002';

/** Fake of the sessions feature: records each launch; a session lives until the test ends it. */
class PlayedSessions implements ConsoleSessions {
  readonly launches: ConsoleLaunch[] = [];
  readonly stops: string[] = [];
  refusal: ApiError | null = null;
  isBroken = false;
  /** Number of look-ups of the newest session. */
  looks = 0;
  #newest: ConsoleSession | null = null;
  #changed: () => void = () => {};

  async newest(): Promise<ConsoleSession | null> {
    this.looks += 1;
    if (this.isBroken) throw new Error('no database');
    return this.#newest;
  }

  async launch(request: ConsoleLaunch): Promise<string> {
    this.launches.push(request);
    if (this.refusal !== null) throw this.refusal;
    const id = `session ${this.launches.length}`;
    this.#newest = { id, isStopping: false, livedMs: null };
    return id;
  }

  async stop(sessionId: string, reason: string): Promise<void> {
    this.stops.push(`${sessionId} ${reason}`);
    if (this.#newest !== null) this.#newest = { ...this.#newest, isStopping: true };
  }

  watch(_sessionId: string, changed: () => void) {
    this.#changed = changed;
    return {
      close: () => {
        this.#changed = () => {};
      },
    };
  }

  end(livedMs: number): void {
    if (this.#newest !== null) this.#newest = { ...this.#newest, livedMs };
    this.#changed();
  }
}

describeDatabases('what a display attached to a host shows', (databases) => {
  let world: FleetWorld;
  let clock: ManualClock;
  let sessions: PlayedSessions;
  let consoles: { close(): Promise<void> };
  let agent: FakeAgent;
  let host: string;

  beforeEach(async () => {
    clock = new ManualClock();
    sessions = new PlayedSessions();
    world = await openFleetWorld(await databases.fresh(), { clock });
    consoles = world.fleet.startConsoles(sessions);
  });
  afterEach(async () => {
    await world.dropAgents();
    await consoles.close();
    await world.close();
  });

  async function connect(options: Partial<FakeAgentOptions> = {}): Promise<void> {
    agent = world.agent('hosta', { capacity: displayCapacity(true), ...options });
    host = await world.ready(agent);
  }

  /** Stores the configuration like the request of an administrator after its checks, and announces it. */
  async function setConsole(part: object): Promise<void> {
    const { config } = await world.fleet.console.read(host);
    const console_config = JSON.stringify({ ...config, ...part });
    await world.platform.database.db.updateTable('hosts').set({ console_config }).execute();
    world.platform.bus.publish(hostSubjects.changed, host, { what: 'configured' });
  }

  const start = { enabled: true, auto_start_on_display: true, default_app: APP, default_user: USER };
  const launches = (count: number) => expect.poll(() => sessions.launches.length).toBe(count);
  /** Expects the next attempt after this time. */
  const waits = (ms: number) => expect.poll(() => clock.isAwaited(ms)).toBe(true);
  /** Advances the time while the agent sends heartbeats. */
  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= BEAT_MS) {
      await clock.pass(Math.min(left, BEAT_MS));
      await agent.heard();
    }
  }
  /** Reports a capacity and waits long enough for every running decision. */
  async function report(connected: boolean): Promise<void> {
    agent.capacity = displayCapacity(connected);
    agent.send(agent.capacity);
    await expect
      .poll(async () => (await world.fleet.console.read(host)).capabilities.outputs[0]?.connected)
      .toBe(connected);
  }

  test('starts when it is set up, local only or streamed as well', async () => {
    await connect();
    await setConsole(start);
    await launches(1);
    expect(sessions.launches[0]).toMatchObject({
      hostId: host,
      appId: APP,
      userId: USER,
      topology: 'local_only',
    });
    await setConsole({ stream: true });
    sessions.end(60_000);
    await waits(2_000);
    await pass(2_000);
    await launches(2);
    expect(sessions.launches[1]).toMatchObject({ topology: 'dual_output' });
  });

  test('starts when a display is plugged in, and ends with its reason when it is pulled out', async () => {
    await connect({ capacity: displayCapacity(false) });
    await setConsole(start);
    await report(true);
    await launches(1);
    await report(false);
    await expect.poll(() => sessions.stops).toEqual(['session 1 console_display_disconnected']);
  });

  test('ends with its reason when the console is turned off', async () => {
    await connect();
    await setConsole(start);
    await launches(1);
    await setConsole({ enabled: false });
    await expect.poll(() => sessions.stops).toEqual(['session 1 console_disabled']);
  });

  test('an agent that cannot show anything gets nothing to show', async () => {
    await connect({ features: [] });
    await setConsole(start);
    await report(false);
    await report(true);
    expect(sessions.launches).toEqual([]);
  });

  test('a drained host starts nothing until it takes sessions again', async () => {
    await connect();
    await world.call('POST', `/v1/hosts/${host}/drain`, {});
    await setConsole(start);
    await report(false);
    await report(true);
    expect(sessions.launches).toEqual([]);
    await world.call('POST', `/v1/hosts/${host}/uncordon`);
    await launches(1);
  });

  test('a failed decision is repeated', async () => {
    await connect();
    sessions.isBroken = true;
    await setConsole(start);
    await waits(5_000);
    sessions.isBroken = false;
    await pass(5_000);
    await launches(1);
  });

  test('a lost link ends nothing; the same session is there when the host is back', async () => {
    await connect();
    await setConsole(start);
    await launches(1);
    await agent.drop();
    await expect.poll(() => world.isConnected(host)).toBe(false);
    await world.ready(agent);
    await setConsole({ grab: false });
    expect([sessions.launches.length, sessions.stops]).toEqual([1, []]);
  });

  test('tries again after 2 s, then 4 s, and starts again after half a minute of life', async () => {
    await connect();
    await setConsole(start);
    await launches(1);
    for (const [nth, waitMs] of [
      [2, 2_000],
      [3, 4_000],
    ] as const) {
      sessions.end(1_000);
      await waits(waitMs);
      await pass(waitMs - 1);
      expect(sessions.launches).toHaveLength(nth - 1);
      await pass(1);
      await launches(nth);
    }
    sessions.end(30_000);
    await waits(2_000);
  });

  test('gives up after six that died at once, until a capacity report', async () => {
    await connect();
    await setConsole(start);
    for (let nth = 1; nth <= 6; nth += 1) {
      await launches(nth);
      const { looks } = sessions;
      sessions.end(0);
      // Wait until the last end is counted; otherwise the report would be followed by a wait of 2 s.
      await expect.poll(() => sessions.looks).toBeGreaterThan(looks);
      if (nth < 6) await waits(2_000 * 2 ** (nth - 1));
      await pass(2_000 * 2 ** (nth - 1));
    }
    await pass(60_000);
    expect(sessions.launches).toHaveLength(6);
    agent.send(agent.capacity);
    await launches(7);
  });

  test('a refused launch is tried again for as long as it takes', async () => {
    sessions.refusal = new ApiError('capacity_exhausted');
    await connect();
    await setConsole(start);
    await launches(1);
    await waits(2_000);
    sessions.refusal = null;
    await pass(2_000);
    await launches(2);
  });
});
