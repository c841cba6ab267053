import { dialAgentSocket, FakeAgent, UpgradeRefused } from '@footlight/test-harness';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { FIXED_TOKEN, type FleetWorld, openFleetWorld } from '../testing/world.ts';

const NODE = { 'X-Service-Node': 'render-1' };
const WRONG_SECRET = { ...NODE, Authorization: 'Bearer wrong' };

describeDatabases('the upgrade of /agent/ws', (databases) => {
  let world: FleetWorld;
  beforeEach(async () => {
    world = await openFleetWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  async function refusal(headers: Record<string, string>): Promise<UpgradeRefused> {
    const outcome = await dialAgentSocket(world.url, headers).catch((error: unknown) => error);
    if (!(outcome instanceof UpgradeRefused))
      throw new Error('the upgrade was not refused', { cause: outcome });
    return outcome;
  }
  const plainRequest = (headers: Record<string, string> = {}) =>
    world.platform && fetch(`${world.url}/agent/ws`, { headers });
  const enroll = async (nodeName: string): Promise<FakeAgent> => {
    const agent = new FakeAgent({
      url: world.url,
      nodeName,
      credential: { token: FIXED_TOKEN },
      heartbeatMs: 0,
      clock: world.platform.clock,
    });
    const { host_id } = await agent.connect();
    await expect.poll(() => world.handlers.calls).toContain(`reported ${host_id}`);
    return agent;
  };

  test('a page may not open it: 403', async () => {
    const refused = await refusal({
      ...NODE,
      Authorization: `Enroll ${FIXED_TOKEN}`,
      Origin: 'https://evil.test',
    });
    expect([refused.status, refused.code]).toEqual([403, 'forbidden']);
  });

  test('a page is refused even where the request is no upgrade', async () => {
    const answer = await plainRequest({ Origin: 'https://evil.test' });
    expect(answer.status).toBe(403);
  });

  test('a request that is no upgrade is 400 with any credential', async () => {
    const answer = await plainRequest(WRONG_SECRET);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { code: 'validation_failed' } });
  });

  test('everything wrong with a credential is one 401 with the same body', async () => {
    const known = await enroll('known');
    const { body } = await world.call('POST', '/v1/admin/enrollment-tokens', { node_name: 'other' });
    const { token } = body as { token: string };
    const refusals = await Promise.all(
      [
        {},
        NODE,
        WRONG_SECRET,
        { 'X-Service-Node': 'known', Authorization: 'Bearer wrong' },
        { 'X-Service-Node': 'Bad Name', Authorization: 'Bearer wrong' },
        { ...NODE, Authorization: 'Basic abc' },
        { ...NODE, Authorization: 'Enroll not-a-token-of-ours' },
        { ...NODE, Authorization: `Enroll ${token}` },
        { ...NODE, Authorization: `Enroll ${FIXED_TOKEN}`, 'X-Service-Enroll': 'short' },
        { ...NODE, Authorization: `Enroll ${FIXED_TOKEN}`, 'X-Service-Boot': 'no uuid' },
      ].map((headers) => refusal(headers as Record<string, string>)),
    );
    expect(refusals.map((refused) => refused.status)).toEqual(refusals.map(() => 401));
    expect(new Set(refusals.map((refused) => JSON.stringify(refused.envelope))).size).toBe(1);
    expect(refusals[0]!.code).toBe('unauthorized');
    await known.close();
  });

  test('after ten wrong credentials a minute the pair of address and name is held off', async () => {
    for (let attempt = 0; attempt < 10; attempt += 1) expect((await refusal(WRONG_SECRET)).status).toBe(401);
    const held = await refusal(WRONG_SECRET);
    expect([held.status, held.code]).toEqual([429, 'rate_limited']);
    expect(Number(held.headers['retry-after'])).toBeGreaterThan(50);
    // Enrollment tokens are refused too, even the right one. Other names from this address are still checked.
    expect((await refusal({ ...NODE, Authorization: `Enroll ${FIXED_TOKEN}` })).status).toBe(429);
    expect((await refusal({ ...WRONG_SECRET, 'X-Service-Node': 'render-2' })).status).toBe(401);
    // Checks before the rate limit still give their own answers.
    expect((await refusal({ ...WRONG_SECRET, Origin: 'https://evil.test' })).status).toBe(403);
    expect((await plainRequest(WRONG_SECRET)).status).toBe(400);
  });

  test('after a hundred wrong credentials a minute the address is held off', async () => {
    for (let attempt = 0; attempt < 100; attempt += 1) {
      expect((await refusal({ ...WRONG_SECRET, 'X-Service-Node': `guess-${attempt}` })).status).toBe(401);
    }
    expect((await refusal({ ...WRONG_SECRET, 'X-Service-Node': 'fresh' })).status).toBe(429);
  });

  test('the right secret passes while its address floods wrong ones, for its own name and others', async () => {
    const agent = await enroll('render-1');
    const guess = Buffer.alloc(32, 7).toString('base64url');
    for (let attempt = 0; attempt < 100; attempt += 1) {
      const nodeName = attempt < 10 ? 'render-1' : `guess-${attempt}`;
      await refusal({ 'X-Service-Node': nodeName, Authorization: `Bearer ${guess}` });
    }
    const flood = ['render-1', 'other', 'Bad Name', ...Array.from({ length: 100 }, (_, n) => `name-${n}`)];
    const answers = Promise.all(
      flood.map((nodeName) => refusal({ 'X-Service-Node': nodeName, Authorization: `Bearer ${guess}` })),
    );
    await agent.drop();
    await agent.connect();
    expect((await answers).map(({ status }) => status)).toEqual(flood.map(() => 429));
    expect((await refusal({ ...NODE, Authorization: 'Bearer short' })).status).toBe(429);
    await agent.close();
  });

  test('enrolling a connected name: 409', async () => {
    const agent = await enroll('render-1');
    const refused = await refusal({ ...NODE, Authorization: `Enroll ${FIXED_TOKEN}` });
    expect([refused.status, refused.code]).toEqual([409, 'conflict']);
    // A caller without a valid token cannot find out that the name exists.
    expect((await refusal({ ...NODE, Authorization: 'Enroll not-a-token-of-ours' })).status).toBe(401);
    await agent.close();
  });

  test('enrolling a name whose record counts: 409 that says what to do', async () => {
    const agent = await enroll('render-1');
    await agent.close();
    await expect.poll(() => world.isConnected(agent.hostId!)).toBe(false);
    const refused = await refusal({ ...NODE, Authorization: `Enroll ${FIXED_TOKEN}` });
    expect(refused.status).toBe(409);
    expect(refused.envelope?.error.message).toContain('delete the host, or mint a token for it');
  });

  test('a name whose enrollment is under way is taken, and free when that connection is gone', async () => {
    const headers = { ...NODE, Authorization: `Enroll ${FIXED_TOKEN}` };
    const socket = await dialAgentSocket(world.url, headers);
    expect((await refusal(headers)).status).toBe(409);
    socket.terminate();
    await expect
      .poll(async () => {
        const next = await dialAgentSocket(world.url, headers).catch(() => null);
        next?.terminate();
        return next !== null;
      })
      .toBe(true);
  });
});
