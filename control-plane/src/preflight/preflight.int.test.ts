import { createHmac } from 'node:crypto';
import { AGENT_FEATURES, type Preflight } from '@footlight/protocol/agent';
import { MAX_HOST_PREFLIGHTS, MAX_PREFLIGHT_SDP } from '@footlight/protocol/preflight';
import type { FakeAgent } from '@footlight/test-harness';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Agents, COMMAND_LIMITS_MS } from '../fleet/agents.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../sessions/testing/world.ts';
import { describeDatabases, ofOneProcess } from '../testing/index.ts';

const SECRET = 'a-secret-of-a-turn-server';
const OFFER = 'v=0\r\n';

describeDatabases('connection tests', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh(), undefined, {
      SERVICE_TURN_URLS: 'turn:turn.example.org:3478?transport=udp,turns:turn.example.org:443',
      SERVICE_TURN_SECRET: SECRET,
      SERVICE_ICE_SERVERS: '[{"urls":"stun:stun.example.org"}]',
    });
    agent = await world.host('hosta');
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await world.close();
  });

  const start = (host = agent.hostId, as = world.people.admin) =>
    world.call(as, 'POST', `/v1/admin/hosts/${host}/preflight`);
  const offer = (body: unknown = { path: 'udp', offer: OFFER }, host = agent.hostId) =>
    world.call(world.people.admin, 'POST', `/v1/admin/hosts/${host}/preflight/offers`, { body });
  const sent = () => agent.commands.filter((command): command is Preflight => command.type === 'preflight');

  test('starts with all paths of the instance, and with credentials that end after two minutes', async () => {
    const answer = await start();
    expect(answer.status).toBe(200);
    const [udp, iceTcp, turnUdp, turnTcp, turnTls] = answer.body.paths;
    expect(udp).toEqual({ path: 'udp', ice_servers: [{ urls: ['stun:stun.example.org'] }], missing: null });
    expect(iceTcp).toEqual({ path: 'tcp', ice_servers: [], missing: null });
    expect(turnTcp).toEqual({ path: 'turn_tcp', ice_servers: [], missing: 'turn_server' });
    expect(turnTls.ice_servers[0].urls).toEqual(['turns:turn.example.org:443']);
    const [{ urls, username, credential }] = turnUdp.ice_servers;
    expect(urls).toEqual(['turn:turn.example.org:3478?transport=udp']);
    expect(Number(username.split(':')[0])).toBe(Math.floor(world.clock.nowMs() / 1000) + 120);
    expect(credential).toBe(createHmac('sha1', SECRET).update(username).digest('base64'));
    expect(await world.activity('host.preflight')).toEqual([
      { target_id: agent.hostId, actor_user_id: world.people.admin.id, details: { node_name: 'hosta' } },
    ]);
  });

  test('passes the offer to the host, and its answer to the page', async () => {
    const answer = await offer({ path: 'turn_udp', offer: OFFER });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual(agent.behaviour.preflight);
    const [command] = sent();
    expect(command).toMatchObject({ path: 'turn_udp', offer: OFFER });
    expect(command?.ice_servers.map(({ urls }) => urls[0])).toEqual([
      'turn:turn.example.org:3478?transport=udp',
      'stun:stun.example.org',
    ]);
  });

  test('pass on that the host has no fallback port', async () => {
    agent.behaviour.preflight = { ...agent.behaviour.preflight, answer: null, fallback_port: null };
    const answer = await offer({ path: 'tcp', offer: OFFER });
    expect(answer.body).toMatchObject({ answer: null, fallback_port: null });
  });

  test.each(['udp', 'tcp'] as const)(
    'give the host no relay for a test of a direct path: %s',
    async (path) => {
      await offer({ path, offer: OFFER });
      expect(sent()[0]?.ice_servers).toEqual([{ urls: ['stun:stun.example.org'] }]);
    },
  );

  test('are for administrators', async () => {
    expect((await start(agent.hostId, world.people.alice)).status).toBe(403);
    const url = `/v1/admin/hosts/${agent.hostId}/preflight/offers`;
    const body = { path: 'udp', offer: OFFER };
    expect((await world.call(world.people.alice, 'POST', url, { body })).status).toBe(403);
    expect((await world.call(null, 'POST', url, { body })).status).toBe(401);
    expect(sent()).toEqual([]);
  });

  describe('are refused', () => {
    const codeOf = (answer: { status: number; body: { error: { code: string } } }) => [
      answer.status,
      answer.body.error.code,
    ];

    test('for an unknown host', async () => {
      const unknown = '00000000-0000-4000-8000-000000000001';
      expect(codeOf(await start(unknown))).toEqual([404, 'not_found']);
      expect(codeOf(await offer(undefined, unknown))).toEqual([404, 'not_found']);
    });

    test('for a host that is offline', async () => {
      await agent.drop();
      await world.offline(agent);
      expect(codeOf(await start())).toEqual([409, 'conflict']);
      expect(codeOf(await offer())).toEqual([409, 'conflict']);
    });

    test('for an agent that does not know them', async () => {
      const features = AGENT_FEATURES.filter((feature) => feature !== 'preflight');
      const old = await world.host('hostb', { features });
      expect(codeOf(await start(old.hostId))).toEqual([409, 'preflight_unsupported']);
      expect(codeOf(await offer(undefined, old.hostId))).toEqual([409, 'preflight_unsupported']);
      expect(await world.activity('host.preflight')).toEqual([]);
    });

    test('for a path that is not configured', async () => {
      expect(codeOf(await offer({ path: 'turn_tcp', offer: OFFER }))).toEqual([409, 'conflict']);
      expect(sent()).toEqual([]);
    });

    test.each([
      ['an unknown path', { path: 'smoke_signals', offer: OFFER }],
      ['no offer', { path: 'udp' }],
      ['an empty offer', { path: 'udp', offer: '' }],
      ['an offer that is too long', { path: 'udp', offer: 'v'.repeat(MAX_PREFLIGHT_SDP + 1) }],
      ['an offer that is no text', { path: 'udp', offer: { sdp: OFFER } }],
      ['ICE servers of its own', { path: 'udp', offer: OFFER, ice_servers: [] }],
    ])('for %s', async (_what, body) => {
      expect(codeOf(await offer(body))).toEqual([400, 'validation_failed']);
      expect(sent()).toEqual([]);
    });

    test.each([
      ['invalid', 400, 'validation_failed'],
      ['busy', 429, 'rate_limited'],
      ['unknown_command', 409, 'preflight_unsupported'],
      ['internal', 503, 'internal'],
    ] as const)('when the host refuses with %s', async (code, status, error) => {
      agent.behaviour.answer = () => ({ code });
      expect(codeOf(await offer())).toEqual([status, error]);
    });

    test.each([
      ['did not get the test', { kind: 'not_connected', sent: false }, 409, 'conflict', 'hosta is offline.'],
      ['cannot be asked', { kind: 'not_asked' }, 503, 'internal', 'hosta cannot be reached right now.'],
      [
        'may have got the test',
        { kind: 'not_connected', sent: true },
        503,
        'internal',
        expect.stringMatching(/^hosta did not answer\. Try/),
      ],
    ] as const)('when a host without an answer %s', async (_what, result, status, code, message) => {
      vi.spyOn(Agents.prototype, 'command').mockResolvedValue(result);
      const answer = await offer();
      expect(codeOf(answer)).toEqual([status, code]);
      expect(answer.body.error.message).toEqual(message);
    });

    test('when the host does not answer in ten seconds', async () => {
      agent.behaviour.answer = () => 'silence';
      const waiting = offer();
      await eventually('the host has the test', () => sent().length === 1 || undefined);
      await world.pass(COMMAND_LIMITS_MS.preflight + 1_000, agent);
      expect(codeOf(await waiting)).toEqual([503, 'internal']);
    });

    ofOneProcess('above the limit of a host, until one of its tests ends', async () => {
      agent.behaviour.answer = () => 'silence';
      const waiting = Array.from({ length: MAX_HOST_PREFLIGHTS }, () => offer());
      await eventually('the host has the tests', () => sent().length === MAX_HOST_PREFLIGHTS || undefined);
      expect(codeOf(await offer())).toEqual([429, 'rate_limited']);
      await world.pass(COMMAND_LIMITS_MS.preflight + 1_000, agent);
      await Promise.all(waiting);
      agent.behaviour.answer = () => 'ok';
      expect((await offer()).status).toBe(200);
    });
  });
});
