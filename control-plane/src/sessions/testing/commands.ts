import type { Session } from '@footlight/protocol/rest';
// biome-ignore lint/style/noRestrictedImports: fixtures of tests, which may use the harness.
import type { Behaviour, FakeAgent } from '@footlight/test-harness';
import { expect } from 'vitest';
import { eventually, type SessionsWorld } from './world.ts';

/** Launches a new app as Alice and returns the session from the answer, without waiting for its host. */
export async function acceptedLaunch(world: SessionsWorld): Promise<Session> {
  const answer = await world.launch(world.people.alice, await world.app());
  expect(answer.status).toBe(201);
  return answer.body.session;
}

/** Commands of one type that an agent received for a session. */
export const sent = (agent: FakeAgent, type: string, sessionId: string) =>
  agent.commands.filter(
    (command) => command.type === type && 'session_id' in command && command.session_id === sessionId,
  );

/** Waits until an agent has received this number of commands of one type for a session. */
export const waitSent = (agent: FakeAgent, type: string, sessionId: string, count = 1): Promise<true> =>
  eventually(`${type} was sent`, () => (sent(agent, type, sessionId).length >= count ? true : undefined));

/** Behaviour of an agent that answers all commands except the given types. */
export const silentTo =
  (...types: string[]): Behaviour['answer'] =>
  (command) =>
    types.includes(command.type) ? 'silence' : 'ok';
