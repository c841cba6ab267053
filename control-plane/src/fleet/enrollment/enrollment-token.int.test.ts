import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type FakeAgent, type FakeAgentOptions, UpgradeRefused } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { FIXED_TOKEN, type FleetWorld, openFleetWorld } from '../testing/world.ts';

interface Minted {
  id: string;
  token: string;
}
interface TokenItem {
  id: string;
  used_at: string | null;
  host_id: string | null;
}

describeDatabases('enrollment', (databases) => {
  let world: FleetWorld;
  beforeAll(async () => {
    world = await openFleetWorld(await databases.fresh(), { credentialLimits: { perAddress: 10_000 } });
  });
  beforeEach(() => world.reset());
  afterEach(() => world.dropAgents());
  afterAll(() => world.close());

  const agentFor = (
    nodeName: string,
    credential: FakeAgentOptions['credential'],
    options: Partial<FakeAgentOptions> = {},
  ): FakeAgent => {
    return world.agent(nodeName, { credential, ...options });
  };
  const mint = async (body: object = {}): Promise<Minted> =>
    (await world.call('POST', '/v1/admin/enrollment-tokens', body)).body;
  const tokens = async (): Promise<TokenItem[]> =>
    ((await world.call('GET', '/v1/admin/enrollment-tokens')).body as { items: TokenItem[] }).items;
  const hosts = async (): Promise<{ id: string; node_name: string }[]> =>
    ((await world.call('GET', '/v1/hosts')).body as { items: { id: string; node_name: string }[] }).items;
  const refused = async (agent: FakeAgent): Promise<number> => {
    const outcome = await agent.connect().catch((error: unknown) => error);
    return outcome instanceof UpgradeRefused ? outcome.status : 0;
  };
  const ready = async (agent: FakeAgent): Promise<string> => {
    const { host_id } = await agent.connect();
    await expect.poll(() => world.handlers.calls).toContain(`reported ${host_id}`);
    return host_id;
  };
  const gone = async (agent: FakeAgent): Promise<void> => {
    await agent.drop();
    await expect.poll(() => world.fleet.links.has(agent.options.nodeName)).toBe(false);
    world.handlers.calls.length = 0;
  };
  /** The bytes of the answer to a refused upgrade, without the parts that differ in every answer. */
  const answerTo = async (headers: Record<string, string>): Promise<string> => {
    const { hostname, port } = new URL(world.url);
    const socket = connect(Number(port), hostname);
    const lines = Object.entries({
      Host: 'control',
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': Buffer.alloc(16).toString('base64'),
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET /agent/ws HTTP/1.1\r\n${lines.join('')}\r\n`);
    return (await text(socket))
      .replace(/^date: .*$/im, '')
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID');
  };
  const enrollId = () => randomBytes(32).toString('hex');

  test('an unknown name becomes a host; the secret is sent once', async () => {
    const agent = agentFor('render-1', { token: FIXED_TOKEN });
    const first = await agent.connect();
    expect(first.node_secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(first).toMatchObject({
      protocol: 1,
      heartbeat_interval_ms: 5000,
      session_grace_secs: 600,
      last_seq: null,
    });
    await expect.poll(() => world.handlers.calls).toContain(`reported ${first.host_id}`);
    await gone(agent);
    const second = await agent.connect();
    expect(second.host_id).toBe(first.host_id);
    expect(second.node_secret).toBeUndefined();
    expect(world.actions.filter((entry) => entry.action === 'host.enroll')).toEqual([
      {
        actorUserId: null,
        action: 'host.enroll',
        targetType: 'host',
        targetId: first.host_id,
        details: { node_name: 'render-1' },
      },
    ]);
  });

  test('no secret and no token is stored in the clear', async () => {
    const { token } = await mint();
    const agent = agentFor('render-1', { token, enrollId: enrollId() });
    await agent.connect();
    const db = world.platform.database.db;
    const stored = JSON.stringify([
      await db.selectFrom('hosts').selectAll().execute(),
      await db.selectFrom('enrollment_tokens').selectAll().execute(),
    ]);
    expect(stored).not.toContain(token);
    expect(stored).not.toContain(agent.secret!);
  });

  test('fifty agents with one one-use token: one host', async () => {
    const { token } = await mint();
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        agentFor(`render-${n}`, { token, enrollId: enrollId() })
          .connect()
          .then(() => 101)
          .catch((error: unknown) => (error instanceof UpgradeRefused ? error.status : 0)),
      ),
    );
    expect(outcomes.filter((status) => status === 101)).toHaveLength(1);
    expect(outcomes.filter((status) => status === 401 || status === 429)).toHaveLength(49);
    expect(await hosts()).toHaveLength(1);
  });

  test('fifty repeats of one enrollment: one host', async () => {
    const { token } = await mint();
    const id = enrollId();
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () =>
        agentFor('render-1', { token, enrollId: id })
          .connect()
          .then(() => 101)
          .catch((error: unknown) => (error instanceof UpgradeRefused ? error.status : 0)),
      ),
    );
    expect(outcomes.filter((status) => status === 101)).toHaveLength(1);
    expect(outcomes.filter((status) => status === 409)).toHaveLength(49);
    expect(await hosts()).toHaveLength(1);
  });

  test('a one-use token is used up when its secret is first used', async () => {
    const { id, token } = await mint();
    const agent = agentFor('render-1', { token, enrollId: enrollId() });
    const hostId = await ready(agent);
    expect((await tokens()).find((item) => item.id === id)).toMatchObject({ used_at: null, host_id: null });
    await gone(agent);
    await ready(agent);
    const used = (await tokens()).find((item) => item.id === id);
    expect(used).toMatchObject({ host_id: hostId, used_at: expect.any(String) });
  });

  test('without an enroll id a one-use token is spent at once', async () => {
    const { id, token } = await mint();
    const agent = agentFor('render-1', { token }, { silentAfterRegistered: true });
    const { host_id } = await agent.connect();
    expect((await tokens()).find((item) => item.id === id)).toMatchObject({
      host_id,
      used_at: expect.any(String),
    });
    await gone(agent);
    expect(await refused(agentFor('render-1', { token }))).toBe(401);
  });

  test('a lost answer locks no host out: the same pair gets a fresh secret, and the unused one is invalid', async () => {
    const { token } = await mint();
    const credential = { token, enrollId: enrollId() };
    const lost = agentFor('render-1', credential, { silentAfterRegistered: true });
    const { host_id } = await lost.connect();
    await gone(lost);
    const again = agentFor('render-1', credential);
    expect((await again.connect()).host_id).toBe(host_id);
    expect(again.secret).not.toBe(lost.secret);
    await gone(again);
    expect(await refused(agentFor('render-1', { secret: lost.secret! }))).toBe(401);
    expect(await refused(agentFor('render-1', { token, enrollId: enrollId() }))).toBe(401);
  });

  test('a record whose agent never reported counts as none, also for the fixed token', async () => {
    const lost = agentFor('render-1', { token: FIXED_TOKEN }, { silentAfterRegistered: true });
    const { host_id } = await lost.connect();
    await gone(lost);
    const next = agentFor('render-1', { token: FIXED_TOKEN });
    expect((await next.connect()).host_id).toBe(host_id);
  });

  test('a record that counts is taken over only by a token minted for its name', async () => {
    const first = agentFor('render-1', { token: FIXED_TOKEN });
    const hostId = await ready(first);
    await gone(first);
    const anyToken = await mint();
    expect(await refused(agentFor('render-1', { token: FIXED_TOKEN }))).toBe(409);
    expect(await refused(agentFor('render-1', { token: anyToken.token, enrollId: enrollId() }))).toBe(409);
    const minted = await mint({ node_name: 'render-1' });
    expect(await refused(agentFor('render-2', { token: minted.token, enrollId: enrollId() }))).toBe(401);

    const second = agentFor('render-1', { token: minted.token, enrollId: enrollId() });
    expect(await ready(second)).toBe(hostId);
    await gone(second);
    // The old secret stays valid until the new one is used, because the answer with the new one may have been lost.
    await ready(first);
    await gone(first);
    await ready(second);
    await gone(second);
    expect(await refused(first)).toBe(401);
    expect(await hosts()).toHaveLength(1);
    expect((await tokens()).find((item) => item.id === minted.id)).toMatchObject({ host_id: hostId });
    // The refusal has not bound the token to the other name.
    await ready(agentFor('render-9', { token: anyToken.token, enrollId: enrollId() }));
  });

  test('a withdrawn or expired token enrolls no host', async () => {
    const withdrawn = await mint();
    await world.call('DELETE', `/v1/admin/enrollment-tokens/${withdrawn.id}`);
    expect(await refused(agentFor('render-1', { token: withdrawn.token, enrollId: enrollId() }))).toBe(401);
    const expired = await mint();
    await world.platform.database.db
      .updateTable('enrollment_tokens')
      .set({ expires_at: 1 })
      .where('id', '=', expired.id)
      .execute();
    expect(await refused(agentFor('render-1', { token: expired.token, enrollId: enrollId() }))).toBe(401);
  });

  test('every invalid credential gets the same 401, byte for byte', async () => {
    // Separate names, because each name allows ten guesses per minute.
    const [known, other] = [
      agentFor('guessed-1', { token: FIXED_TOKEN }),
      agentFor('guessed-2', { token: FIXED_TOKEN }),
    ];
    for (const agent of [known, other]) {
      await ready(agent);
      await gone(agent);
    }
    const tokenFor = async (body: object, set: { expires_at: number } | null = null) => {
      const { id, token } = await mint(body);
      if (set !== null)
        await world.platform.database.db
          .updateTable('enrollment_tokens')
          .set(set)
          .where('id', '=', id)
          .execute();
      return token;
    };
    const withdrawn = await mint();
    await world.call('DELETE', `/v1/admin/enrollment-tokens/${withdrawn.id}`);
    const spent = await tokenFor({});
    const spender = agentFor('guessed-3', { token: spent });
    await ready(spender);
    await gone(spender);
    const as = (name: string, authorization: string) => ({
      'X-Service-Node': name,
      'X-Service-Boot': known.bootId,
      'X-Service-Enroll': enrollId(),
      Authorization: authorization,
    });
    const wrong: [string, Record<string, string>][] = [
      ['none', {}],
      ['no name', { Authorization: `Bearer ${known.secret}` }],
      ['no secret', { 'X-Service-Node': 'guessed-1' }],
      ['another scheme', as('guessed-1', `Basic ${known.secret}`)],
      ['a wrong secret', as('guessed-1', 'Bearer wrong')],
      ["another host's secret", as('guessed-1', `Bearer ${other.secret}`)],
      ['a secret under an unknown name', as('guessed-9', `Bearer ${known.secret}`)],
      ['a name that is none', as('../guessed', `Bearer ${known.secret}`)],
      ['an unknown token', as('guessed-9', 'Enroll unknown')],
      ['an enrollment token in place of a secret', as('guessed-1', `Bearer ${FIXED_TOKEN}`)],
      ['a withdrawn token', as('guessed-9', `Enroll ${withdrawn.token}`)],
      ['an expired token', as('guessed-9', `Enroll ${await tokenFor({}, { expires_at: 1 })}`)],
      ['a spent token', as('guessed-9', `Enroll ${spent}`)],
      [
        'a token minted for another name',
        as('guessed-9', `Enroll ${await tokenFor({ node_name: 'guessed-8' })}`),
      ],
    ];
    const answers = new Map<string, string[]>();
    for (const [what, headers] of wrong) {
      const answer = await answerTo(headers);
      answers.set(answer, [...(answers.get(answer) ?? []), what]);
    }
    expect([...answers.values()]).toEqual([wrong.map(([what]) => what)]);
    expect([...answers.keys()][0]).toMatch(/^HTTP\/1\.1 401 /);
  });

  test('an enrolled agent authenticates its HTTP calls with the same headers', async () => {
    const { token } = await mint();
    const agent = agentFor('render-1', { token, enrollId: enrollId() });
    const hostId = await ready(agent);
    const lower = (headers: Record<string, string>) =>
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
    expect(await world.fleet.authenticateNode(lower(agent.headers()))).toEqual({
      hostId,
      nodeName: 'render-1',
      bootId: agent.bootId,
    });
    expect((await tokens())[0]).toMatchObject({ used_at: expect.any(String) });
    const enrolHeaders = lower({ ...agent.headers(), Authorization: `Enroll ${FIXED_TOKEN}` });
    expect(await world.fleet.authenticateNode(enrolHeaders)).toBeNull();
    expect(
      await world.fleet.authenticateNode({ ...lower(agent.headers()), 'x-service-node': 'b' }),
    ).toBeNull();
  });
});
