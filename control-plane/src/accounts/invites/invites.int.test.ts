import { createHash } from 'node:crypto';
import { HOUR_MS } from '@footlight/platform';
import { invite as inviteSchema, mintedInvite } from '@footlight/protocol/rest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Answer,
  createTestApp,
  describeDatabases,
  dumpDatabase,
  FREE_SIGN_IN,
  loggedActivity,
  type Person,
  type TestApp,
  UNKNOWN_ID,
} from '../../testing/index.ts';

const PASSWORD = 'correct horse battery';

describeDatabases('invites', ({ fresh }) => {
  let app: TestApp;
  let admin: Person;
  beforeAll(async () => {
    app = await createTestApp(await fresh(), {
      env: { REGISTRATION_MODE: 'invite_only', PUBLIC_BASE_URL: 'https://play.example.org/base//' },
      overrides: {
        accountLimits: FREE_SIGN_IN,
      },
    });
    admin = app.people.admin;
  });
  afterAll(() => app.close());

  const mint = (body?: unknown, as = admin) =>
    app.call(as, 'POST', '/v1/admin/invites', body === undefined ? {} : { body });
  const minted = async (body?: unknown) => (await mint(body)).body.invite;
  const list = async (query = '', as = admin) =>
    (await app.call(as, 'GET', `/v1/admin/invites${query}`)).body;
  const revoke = (id: string) => app.call(admin, 'DELETE', `/v1/admin/invites/${id}`);
  const find = async (id: string, query = '') =>
    (await list(query)).invites.find((invite: { id: string }) => invite.id === id);
  const register = (code: string, username: string, email = `${username}@example.org`): Promise<Answer> =>
    app.call(null, 'POST', '/v1/auth/register', {
      body: { email, username, password: PASSWORD, invite_code: code },
    });
  const audits = async (targetId: string) => {
    const rows = await loggedActivity(app, { target_type: 'invite', target_id: targetId });
    return rows.map((row) => [row.actor_user_id, row.action, row.details]);
  };

  describe('minting', () => {
    test.each([
      ['an empty body', undefined],
      ['{}', {}],
      ['nulls', { role: null, max_uses: null, expires_at: null, note: null }],
    ])('with %s gives one use to one user, without an end', async (_, body) => {
      const answer = await mint(body);
      expect(answer.status).toBe(201);
      expect(answer.headers['cache-control']).toBe('no-store');
      const { invite } = answer.body;
      expect(invite).toEqual({
        id: expect.any(String),
        code: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
        invite_url: `https://play.example.org/base/register?invite=${invite.code}`,
        role: 'user',
        max_uses: 1,
        used_count: 0,
        expires_at: null,
        created_at: new Date(app.clock.nowMs()).toISOString(),
      });
      expect(mintedInvite.strict().parse(invite)).toEqual(invite);
      expect(await audits(invite.id)).toEqual([[admin.id, 'invite.minted', { role: 'user', max_uses: 1 }]]);
    });

    test('takes role, uses, expiry and note; the code is kept as its hash alone', async () => {
      const expiresAt = app.clock.nowMs() + HOUR_MS;
      const local = `${new Date(expiresAt + 2 * HOUR_MS).toISOString().slice(0, -1)}+02:00`;
      const body = { role: 'admin', max_uses: 2_147_483_647, expires_at: local, note: 'for the chess club' };
      const invite = await minted(body);
      const expires_at = new Date(expiresAt).toISOString();
      expect(invite).toMatchObject({ role: 'admin', max_uses: 2_147_483_647, expires_at });
      const hash = createHash('sha256').update(invite.code).digest('hex');
      expect(await find(invite.id)).toEqual({
        id: invite.id,
        code_prefix: hash.slice(0, 8),
        role: 'admin',
        max_uses: 2_147_483_647,
        used_count: 0,
        expires_at,
        revoked_at: null,
        note: 'for the chess club',
        created_at: invite.created_at,
        created_by_user_id: admin.id,
        created_by_username: 'admin',
      });
      expect(await audits(invite.id)).toEqual([
        [admin.id, 'invite.minted', { role: 'admin', max_uses: 2_147_483_647, expires_at }],
      ]);
      expect(await dumpDatabase(app.plane.platform.database)).not.toContain(invite.code);
      expect(app.log.join('')).not.toContain(invite.code);
      expect(JSON.stringify(await list())).not.toContain(invite.code);
    });

    test('an empty note is none, and one of a thousand characters fits', async () => {
      expect(await find((await minted({ note: '' })).id)).toMatchObject({ note: null });
      const note = '😀'.repeat(1_000);
      expect(await find((await minted({ note })).id)).toMatchObject({ note });
    });

    test.each([
      { role: 'owner' },
      { max_uses: 0 },
      { max_uses: 2_147_483_648 },
      { max_uses: 1.5 },
      { expires_at: 'tomorrow' },
      { expires_at: '2099-02-30T00:00:00Z' },
      { expires_at: '2099-01-01T00:00:00' },
      { expires_at: 4_102_444_800_000 },
      { note: 'x'.repeat(1_001) },
      { code: 'mine' },
    ])('refuses %j', async (body) => {
      expect((await mint(body)).body.error.code).toBe('validation_failed');
    });

    test('refuses an expiry that is not in the future', async () => {
      const now = app.clock.nowMs();
      expect((await mint({ expires_at: new Date(now).toISOString() })).status).toBe(400);
      expect((await mint({ expires_at: new Date(now + 1).toISOString() })).status).toBe(201);
    });

    test('without PUBLIC_BASE_URL there is no link', async () => {
      const other = await createTestApp(await fresh());
      const { body } = await other.call(other.people.admin, 'POST', '/v1/admin/invites');
      expect(body.invite).not.toHaveProperty('invite_url');
      await other.close();
    });
  });

  describe('the list', () => {
    test('comes newest first, without pages', async () => {
      const made: string[] = [];
      for (let i = 0; i < 3; i += 1) {
        await app.clock.pass(1);
        made.unshift((await minted()).id);
      }
      const { invites } = await list();
      expect(invites.slice(0, 3).map((invite: { id: string }) => invite.id)).toEqual(made);
      expect((await list('?state=all')).invites).toEqual(invites);
      for (const invite of invites) expect(inviteSchema.strict().parse(invite)).toEqual(invite);
    });

    test('of pending ones holds exactly those that can be used right now', async () => {
      const [good, revoked, used, expiring] = [
        await minted({ max_uses: 2 }),
        await minted(),
        await minted(),
        await minted({ expires_at: new Date(app.clock.nowMs() + 1_000).toISOString() }),
      ];
      await revoke(revoked.id);
      expect((await register(used.code, 'user-of-one')).status).toBe(201);
      expect((await register(good.code, 'user-of-two')).status).toBe(201);
      const pending = async (id: string) => (await find(id, '?state=pending')) !== undefined;
      expect(await pending(expiring.id)).toBe(true);
      await app.clock.pass(1_000);
      for (const [invite, expected] of [
        [good, true],
        [revoked, false],
        [used, false],
        [expiring, false],
      ] as const)
        expect(await pending(invite.id)).toBe(expected);
      expect(await find(good.id)).toMatchObject({ used_count: 1, max_uses: 2 });
    });

    test.each(['', 'Pending', 'revoked', 'all&state=pending'])('refuses state=%s', async (state) => {
      const answer = await app.call(admin, 'GET', `/v1/admin/invites?state=${state}`);
      expect([answer.status, answer.body.error.code]).toEqual([400, 'invalid_state']);
    });
  });

  describe('revoking', () => {
    test('works at once; a repeat keeps the first time and adds no activity entry', async () => {
      const invite = await minted({ max_uses: 5 });
      expect((await register(invite.code, 'just-in-time')).status).toBe(201);
      const first = app.clock.nowMs();
      expect((await revoke(invite.id)).status).toBe(204);
      expect((await register(invite.code, 'too-late')).body.error.code).toBe('invalid_invite');
      await app.clock.pass(1_000);
      expect((await revoke(invite.id.toUpperCase())).status).toBe(204);
      expect(await find(invite.id)).toMatchObject({
        revoked_at: new Date(first).toISOString(),
        used_count: 1,
      });
      expect((await audits(invite.id)).slice(1)).toEqual([[admin.id, 'invite.revoked', {}]]);
    });

    test('an unknown invite is 204 and leaves no record', async () => {
      expect((await revoke(UNKNOWN_ID)).status).toBe(204);
      expect(await audits(UNKNOWN_ID)).toEqual([]);
    });
  });

  test('are deleted with the account that minted them, but not when it is demoted or disabled', async () => {
    const issuer = await app.addPerson('issuer', 'admin');
    const { invite } = (await mint({ max_uses: 3 }, issuer)).body;
    const change = (body: object) => app.call(admin, 'PATCH', `/v1/users/${issuer.id}`, { body });
    await change({ role: 'user' });
    expect((await register(invite.code, 'by-a-demoted')).status).toBe(201);
    await change({ disabled: true });
    expect((await register(invite.code, 'by-a-disabled')).status).toBe(201);
    expect((await app.call(admin, 'DELETE', `/v1/users/${issuer.id}`)).status).toBe(204);
    expect(await find(invite.id)).toBeUndefined();
    expect((await register(invite.code, 'by-nobody')).body.error.code).toBe('invalid_invite');
  });

  describe('redeeming', () => {
    const accountsNamed = async (prefix: string) =>
      app.plane.platform.database.db
        .selectFrom('users')
        .select('id')
        .where('username', 'like', `${prefix}%`)
        .execute();

    test.each([
      [1, 100],
      [7, 70],
    ])('%i uses by %i registrations at once: exactly as many accounts', async (uses, requests) => {
      const invite = await minted({ max_uses: uses });
      const answers = await Promise.all(
        Array.from({ length: requests }, (_, i) => register(invite.code, `race${uses}-${i}`)),
      );
      const codes = answers.map(({ status, body }) => (status === 201 ? 'made' : body.error.code));
      expect(codes.filter((code) => code === 'made')).toHaveLength(uses);
      expect(codes.filter((code) => code === 'invalid_invite')).toHaveLength(requests - uses);
      expect(await accountsNamed(`race${uses}-`)).toHaveLength(uses);
      expect(await find(invite.id)).toMatchObject({ used_count: uses });
    });

    test('a taken name restores the use of the invite, also during a race', async () => {
      const invite = await minted({ max_uses: 10 });
      const answers = await Promise.all([
        ...Array.from({ length: 20 }, (_, i) => register(invite.code, 'same-name', `same${i}@example.org`)),
        ...Array.from({ length: 20 }, (_, i) => register(invite.code, `mail-${i}`, 'SAME@example.org')),
      ]);
      const made = answers.filter(({ status }) => status === 201);
      expect(made).toHaveLength(2);
      for (const { status, body } of answers.filter((answer) => answer.status !== 201)) {
        // At this moment, requests that will fail and roll back may have taken all uses.
        expect([409, 400]).toContain(status);
        expect(['conflict', 'invalid_invite']).toContain(body.error.code);
      }
      expect(await find(invite.id)).toMatchObject({ used_count: 2 });
    });

    test('is not required while registration is open', async () => {
      const { db } = app.plane.platform.database;
      await db.updateTable('instance_settings').set({ registration_mode: 'open' }).execute();
      const invite = await minted();
      expect((await register(invite.code, 'walked-in')).body.user.role).toBe('user');
      expect((await register('nonsense', 'walked-in-too')).status).toBe(201);
      expect(await find(invite.id)).toMatchObject({ used_count: 0 });
      await db.updateTable('instance_settings').set({ registration_mode: 'invite_only' }).execute();
    });
  });
});
