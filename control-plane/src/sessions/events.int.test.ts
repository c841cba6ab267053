import { request } from 'node:http';
import type { Session } from '@footlight/protocol/rest';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeDatabases, ofOneProcess, type Person } from '../testing/index.ts';
import { openSessionsWorld, type SessionsWorld } from './testing/world.ts';

/** An open event stream with the received data. */
interface Stream {
  status: number;
  headers: Record<string, unknown>;
  events: Session[];
  text(): string;
  ended: boolean;
  close(): void;
}

describeDatabases('the event stream of a session', (databases) => {
  let world: SessionsWorld;
  const streams: Stream[] = [];
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(async () => {
    for (const stream of streams.splice(0)) stream.close();
    await world.close();
  });

  function follow(as: Person | null, id: string): Promise<Stream> {
    return new Promise((resolve, reject) => {
      let text = '';
      const headers = as === null ? {} : { authorization: `Bearer ${as.token}` };
      const sent = request(`${world.url}/v1/sessions/${id}/events`, { headers }, (response) => {
        const stream: Stream = {
          status: response.statusCode ?? 0,
          headers: response.headers,
          events: [],
          text: () => text,
          ended: false,
          close: () => void sent.destroy(),
        };
        streams.push(stream);
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
          stream.events = [...text.matchAll(/^event: session\ndata: (.*)$/gm)].map(
            (match) => (JSON.parse(match[1] as string) as { session: Session }).session,
          );
        });
        response.on('close', () => {
          stream.ended = true;
        });
        resolve(stream);
      });
      sent.on('error', (error) => (streams.length === 0 ? reject(error) : undefined));
      sent.end();
    });
  }

  test('begins with a snapshot, has every change, and ends with the session', async () => {
    const agent = await world.host('hosta');
    const session = await world.running(world.people.alice, await world.app());
    const stream = await follow(world.people.alice, session.id);
    expect(stream.status).toBe(200);
    expect(stream.headers['content-type']).toBe('text/event-stream');
    await expect.poll(() => stream.events.length).toBe(1);
    agent.reportState(session.id, 'running', { detail: 'still here' });
    await expect.poll(() => stream.events.at(-1)?.state_detail).toBe('still here');
    agent.reportState(session.id, 'stopped', { reason: 'idle_timeout' });
    await expect.poll(() => stream.ended).toBe(true);
    expect(stream.events.at(-1)).toMatchObject({ state: 'stopped', end_reason: 'idle_timeout' });
  });

  test('has an event for each of several changes at once, in their order', async () => {
    const agent = await world.host('hosta');
    const session = await world.running(world.people.alice, await world.app());
    const stream = await follow(world.people.alice, session.id);
    await expect.poll(() => stream.events.length).toBe(1);
    const details = Array.from({ length: 8 }, (_, n) => `step ${n}`);
    for (const detail of details) agent.reportState(session.id, 'running', { detail });
    agent.reportState(session.id, 'stopping', { detail: 'on its way' });
    agent.reportState(session.id, 'stopped', { reason: 'idle_timeout' });
    await expect.poll(() => stream.ended).toBe(true);
    expect(
      stream.events.slice(1).map(({ state, state_detail, ended_at }) => [state, state_detail, ended_at]),
    ).toEqual([
      ...details.map((detail) => ['running', detail, null]),
      ['stopping', 'on its way', null],
      ['stopped', 'on its way', expect.any(String)],
    ]);
  });

  test('has one event for a session that has ended', async () => {
    await world.host('hosta');
    const session = await world.running(world.people.alice, await world.app());
    await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
    await world.until(session.id, 'stopped');
    const stream = await follow(world.people.admin, session.id);
    await expect.poll(() => stream.ended).toBe(true);
    expect(stream.events.map((event) => event.state)).toEqual(['stopped']);
  });

  test('has a comment every 25 s', async () => {
    const agent = await world.host('hosta');
    const session = await world.running(world.people.alice, await world.app());
    const stream = await follow(world.people.alice, session.id);
    await expect.poll(() => stream.events.length).toBeGreaterThan(0);
    await world.pass(25_000, agent);
    await expect.poll(() => stream.text()).toContain('\n: keep-alive\n');
  });

  ofOneProcess(
    'is open at most 20 times for one person, and there is room again when one closes',
    async () => {
      await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      const open = await Promise.all(
        Array.from({ length: 20 }, () => follow(world.people.alice, session.id)),
      );
      expect(open.map((stream) => stream.status)).toEqual(Array(20).fill(200));
      const one = await follow(world.people.alice, session.id);
      expect(one.status).toBe(429);
      expect((await follow(world.people.admin, session.id)).status).toBe(200);
      open[0]?.close();
      await expect
        .poll(async () => {
          const stream = await follow(world.people.alice, session.id);
          return stream.status;
        })
        .toBe(200);
    },
  );

  test("ends when the reader of another person's session is no administrator any more", async () => {
    const agent = await world.host('hosta');
    const session = await world.running(world.people.alice, await world.app());
    const stream = await follow(world.people.admin, session.id);
    await expect.poll(() => stream.events.length).toBeGreaterThan(0);
    const { db } = world.plane.platform.database;
    await db.updateTable('users').set({ role: 'user' }).where('id', '=', world.people.admin.id).execute();
    agent.reportState(session.id, 'running', { detail: 'not for everybody' });
    await expect.poll(() => stream.ended).toBe(true);
    expect(stream.text()).not.toContain('not for everybody');
  });

  test.each([
    ['signs out', (reader: Person) => world.call(reader, 'POST', '/v1/auth/logout')],
    ['is disabled', (reader: Person) => change(reader, { disabled: true })],
    ['is demoted', (reader: Person) => change(reader, { role: 'user' })],
    ['is deleted', (reader: Person) => world.call(world.people.admin, 'DELETE', `/v1/users/${reader.id}`)],
  ])('ends within 5 s when its reader %s, though nothing happens to the session', async (_, end) => {
    const agent = await world.host('hosta');
    const session = await world.running(world.people.alice, await world.app());
    const reader = await world.addPerson('reader', 'admin');
    const [stream, kept] = [await follow(reader, session.id), await follow(world.people.alice, session.id)];
    await expect.poll(() => stream.events.length).toBeGreaterThan(0);
    expect((await end(reader)).status).toBeLessThan(300);
    await world.pass(5_000, agent);
    await expect.poll(() => stream.ended).toBe(true);
    expect(kept.ended).toBe(false);
  });

  const change = (person: Person, body: object) =>
    world.call(world.people.admin, 'PATCH', `/v1/users/${person.id}`, { body });
});
