import { readdirSync } from 'node:fs';
import path from 'node:path';
import { isTerminal, type SessionStateName } from '@footlight/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { descendants, hostTraces, steadyTraces } from '../src/stack/host-traces.ts';
import { eventually, PATIENCE_MS } from '../src/stack/program.ts';
import { PersonSessions } from '../src/stack/sessions.ts';
import { type Stack, startStack } from '../src/stack/stack.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
const KILLS = 20;
/** Time limit for full recovery after the control plane is back. */
const RECONCILED_MS = 30_000;

interface Session {
  id: string;
  app_id: string;
  state: SessionStateName;
  state_detail: string | null;
}

describe.runIf(LONG)('the control plane is killed during an operation', () => {
  let stack: Stack;
  let sessions: PersonSessions;

  beforeAll(async () => {
    stack = await startStack({ agentEnv: { SERVICE_ENCODE_SLOTS: '8' } });
    sessions = new PersonSessions(stack, (await stack.claim()).token);
  });

  afterAll(async () => {
    await sessions?.close();
    await stack?.stop();
  });

  const living = async (): Promise<Session[]> => {
    const { body } = await sessions.call('GET', '/v1/sessions');
    return body.items.filter((session: Session) => !isTerminal(session.state));
  };
  const host = async () => (await sessions.call('GET', '/v1/hosts')).body.items[0];
  const isSettled = ({ state, state_detail }: Session) =>
    state === 'running' && state_detail !== 'host_unreachable' && state_detail !== 'swapping';

  test(`${KILLS} times, at every step of a launch and of a swap: no second without frames, all settled within 30 s, no slot twice, nothing left`, {
    timeout: 60_000 + KILLS * 60_000,
  }, async () => {
    const own = path.join(stack.directory, 'agent');
    const before = await eventually('the helpers of the agent run', 20_000, () =>
      steadyTraces(stack.agent.pid, own),
    );
    const pattern = await sessions.app('Watched', null);
    const titles = ['one', 'other'];
    const apps = await Promise.all(
      titles.map((title) => sessions.app(`The ${title}`, ['xterm', '-T', title])),
    );
    const watched = (await sessions.launch(pattern)).id;
    await sessions.reaches(watched, 'app presented');
    const viewer = await sessions.watch(watched);
    const began = performance.now();
    const swapping = (await sessions.launch(apps[0] ?? '')).id;
    await sessions.reaches(swapping, 'app presented');
    const launchMs = performance.now() - began;

    for (let kill = 0; kill < KILLS; kill++) {
      const isLaunch = kill % 2 === 0;
      const current = (await sessions.read(swapping)).app_id;
      // The answer may be lost, because the control plane is killed.
      const asked = (
        isLaunch
          ? sessions.call('POST', '/v1/sessions', { app_id: pattern })
          : sessions.call('POST', `/v1/sessions/${swapping}/swap`, {
              app_id: apps.find((id) => id !== current),
            })
      ).catch(() => null);
      // Each kill happens at a later step of the launch, from before the answer to after the last report.
      const share = ((kill >> 1) + 0.25) / (KILLS / 2);
      await new Promise((resolve) => setTimeout(resolve, launchMs * share));
      await stack.control.kill('SIGKILL');
      const answer = await asked;
      await stack.startControl();

      const what = `after kill ${kill + 1}`;
      let last: unknown;
      const alive = await eventually(`${what} all is settled`, RECONCILED_MS, async () => {
        const [{ status, capacity }, all] = [await host(), await living()];
        last = { status, all: all.map(({ id, state, state_detail }) => [id, state, state_detail]) };
        return status === 'online' && capacity !== null && all.every(isSettled) ? all : null;
      }).catch((error) => {
        throw new Error(`${String(error)} ${JSON.stringify(last)}`);
      });
      const ids = alive.map(({ id }) => id);
      expect(ids, what).toEqual(expect.arrayContaining([watched, swapping]));
      if (isLaunch && answer?.status === 201) {
        const { status } = await sessions.call('GET', `/v1/sessions/${answer.body.session.id}`);
        expect(status, `${what} what was acknowledged is there`).toBe(200);
      }
      expect((await host()).capacity.slots_used, `${what} slots`).toBe(alive.length);
      await eventually(
        `${what} the host has what the control plane knows, and nothing else`,
        PATIENCE_MS,
        () => readdirSync(path.join(own, 'sessions')).length === alive.length || null,
      );
      // Only the app that the session names may run.
      const shown = apps.indexOf(alive.find(({ id }) => id === swapping)?.app_id ?? '');
      await eventually(`${what} one app is there`, PATIENCE_MS, () => {
        const running = descendants(stack.agent.pid).flatMap(
          ([, command]) => /^xterm -T (\w+)$/.exec(command)?.[1] ?? [],
        );
        return running.join() === titles[shown] || null;
      });
      for (const id of ids.filter((one) => one !== watched && one !== swapping)) await sessions.stop(id);
    }

    const perSecond = viewer.video.perSecond.slice(1, -1);
    expect(Math.min(...perSecond), `frames in each second: ${perSecond.join(' ')}`).toBeGreaterThan(0);
    for (const id of [watched, swapping]) await sessions.stop(id);
    expect((await host()).capacity.slots_used).toBe(0);
    await eventually('nothing is left', PATIENCE_MS, () => {
      const now = hostTraces(stack.agent.pid, own);
      return JSON.stringify(now) === JSON.stringify(before) || null;
    }).catch(() => expect(hostTraces(stack.agent.pid, own)).toEqual(before));
  });
});
