import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSessionsWorld, type SessionsWorld } from '../sessions/testing/world.ts';
import { describeDatabases, ofOneProcess } from '../testing/index.ts';

describeDatabases('a signaling token', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  test('is asked for again: 201 with another token', async () => {
    await world.host('hosta');
    const { body } = await world.launch(world.people.alice, await world.app());
    const path = `/v1/sessions/${body.session.id}/signaling-token`;
    const first = await world.call(world.people.alice, 'POST', path, { body: 'ignored' });
    expect(first.status).toBe(201);
    expect(first.body.signaling.token).not.toBe(body.signaling.token);
    const expires = Date.parse(first.body.signaling.expires_at);
    expect(expires).toBe(world.clock.nowMs() + 60_000);
  });

  ofOneProcess('is given 300 times a minute to one person, which slows no other', async () => {
    await world.host('hosta');
    const { body } = await world.launch(world.people.alice, await world.app());
    const path = `/v1/sessions/${body.session.id}/signaling-token`;
    const ask = async (count: number) => {
      const statuses: number[] = [];
      for (let n = 0; n < count; n += 1)
        statuses.push((await world.call(world.people.alice, 'POST', path)).status);
      return statuses;
    };
    expect(new Set(await ask(300))).toEqual(new Set([201]));
    const refused = await world.call(world.people.alice, 'POST', path);
    expect([refused.status, refused.body.error?.code, refused.headers['retry-after']]).toEqual([
      429,
      'rate_limited',
      '60',
    ]);
    expect((await world.call(world.people.bob, 'POST', path)).status).toBe(403);
    await world.clock.pass(59_999);
    expect(await ask(1)).toEqual([429]);
    await world.clock.pass(1);
    expect(new Set(await ask(300))).toEqual(new Set([201]));
    expect(await ask(1)).toEqual([429]);
  });

  test('is refused with 409 once the session stops', async () => {
    await world.host('hosta', {
      behaviour: { answer: (c) => (c.type === 'session_stop' ? 'silence' : 'ok') },
    });
    const session = await world.running(world.people.alice, await world.app());
    await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
    const answer = await world.call(world.people.alice, 'POST', `/v1/sessions/${session.id}/signaling-token`);
    expect([answer.status, answer.body.error.code]).toEqual([409, 'conflict']);
  });

  test('comes with a URL that follows the proxy in front', async () => {
    await world.host('hosta');
    const session = await world.running(world.people.alice, await world.app());
    const answer = await world.call(
      world.people.alice,
      'POST',
      `/v1/sessions/${session.id}/signaling-token`,
      {
        headers: { host: 'inner', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'play.example' },
      },
    );
    expect(answer.body.signaling.url).toBe('wss://play.example/v1/signal');
  });

  test('is stored only as a digest', async () => {
    await world.host('hosta');
    const { body } = await world.launch(world.people.alice, await world.app());
    const rows = await world.plane.platform.database.db.selectFrom('signaling_tokens').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(body.signaling.token);
    expect(world.log.join('')).not.toContain(body.signaling.token);
  });
});
