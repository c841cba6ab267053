import { SECOND_MS } from '@footlight/platform';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type Answer,
  addSession,
  createTestApp,
  describeDatabases,
  FREE_SIGN_IN,
  OPEN_REGISTRATION,
  openEventStream,
  PASSWORD,
  type Person,
  refused,
  signIn,
  signUp,
  type TestApp,
} from '../../testing/index.ts';
import { HASH_COST } from '../sign-in/password-hasher.ts';

const NEW_PASSWORD = 'violet lantern parade';

describeDatabases('POST /v1/me/password', ({ fresh }) => {
  let app: TestApp;
  let origin: string;
  let alice: Person;
  let number = 0;
  beforeAll(async () => {
    app = await createTestApp(await fresh(), {
      env: OPEN_REGISTRATION,
      overrides: { accountLimits: FREE_SIGN_IN },
    });
    origin = (await app.plane.listen()).http;
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    number += 1;
    alice = await signUp(app, `alice${number}`);
  });

  const change = (as: Person, body: unknown) => app.call(as, 'POST', '/v1/me/password', { body });
  const good = { current_password: PASSWORD, new_password: NEW_PASSWORD };
  const isSignedIn = async (as: Person) => (await app.call(as, 'GET', '/v1/me')).status === 200;

  test('replaces the password and ends every token of the account, including the calling one, and no token of other accounts', async () => {
    const others = [await signIn(app, alice.username), await signIn(app, alice.username, 'tv')];
    const answer = await change(alice, good);
    expect([answer.status, answer.text]).toEqual([204, '']);
    for (const token of [alice, ...others])
      refused(await app.call(token, 'GET', '/v1/me'), 401, 'unauthorized');
    expect(await isSignedIn(app.people.bob)).toBe(true);
    await expect(signIn(app, alice.username)).rejects.toThrow('invalid_credentials');
    expect(await isSignedIn(await signIn(app, alice.username, undefined, NEW_PASSWORD))).toBe(true);
  });

  test('takes the current password as the new one', async () => {
    expect((await change(alice, { ...good, new_password: PASSWORD })).status).toBe(204);
    expect(await isSignedIn(alice)).toBe(false);
    expect(await isSignedIn(await signIn(app, alice.username))).toBe(true);
  });

  test.each([
    ['wrong', { current_password: `${PASSWORD}!` }],
    ['empty', { current_password: '' }],
    ['null', { current_password: null }],
    ['left out', { current_password: undefined }],
  ])('a current password that is %s is 401 invalid_credentials, and nothing changes', async (_, more) => {
    refused(await change(alice, { ...good, ...more }), 401, 'invalid_credentials');
    expect(await isSignedIn(alice)).toBe(true);
    expect(await isSignedIn(await signIn(app, alice.username))).toBe(true);
  });

  describe('the order of checks', () => {
    const wrong = { current_password: 'wrong' };

    test.each([
      ['no new password', { new_password: undefined }, 'new_password'],
      ['a new password of another type', { new_password: 123_456_789_012 }, 'new_password'],
      ['eleven characters', { new_password: 'x'.repeat(11) }, '12 to 128'],
      ['129 characters', { new_password: 'x'.repeat(129) }, '12 to 128'],
      ['a common password', { new_password: 'PassWord1234' }, 'common'],
    ])('%s: 400, before the current password is looked at', async (_, more, word) => {
      const answer = await change(alice, { ...good, ...wrong, ...more });
      refused(answer, 400, 'validation_failed');
      expect(answer.body.error.message).toContain(word);
    });

    test('with the username or the local part of the email inside: 400, after the length and the list', async () => {
      const inside = await change(alice, {
        ...wrong,
        new_password: `xxxx ${alice.username.toUpperCase()} xxxx`,
      });
      refused(inside, 400, 'validation_failed');
      expect(inside.body.error.message).toContain('username');
      const short = await change(alice, { ...wrong, new_password: alice.username });
      expect(short.body.error.message).toContain('12 to 128');
    });

    test('a full hash queue: 429 with Retry-After 1, after the rule and before the current password', async () => {
      const busy = await createTestApp(await fresh(), {
        env: OPEN_REGISTRATION,
        overrides: {
          // Uses the production hash cost; cheap hashes would never fill the queue.
          accountLimits: {
            ...FREE_SIGN_IN,
            hashCost: HASH_COST,
            hashQueue: { parallel: 1, waiting: 1, knownOnly: 0, perAddress: 1 },
          },
        },
      });
      try {
        const carol = await signUp(busy, 'carol');
        const call = (body: unknown) => busy.call(carol, 'POST', '/v1/me/password', { body });
        const answers = await Promise.all(Array.from({ length: 8 }, () => call({ ...good, ...wrong })));
        const codes = answers.map((answer) => answer.body.error.code);
        expect(codes).toContain('invalid_credentials');
        const limited = answers.find((answer) => answer.status === 429) as Answer;
        expect([limited.body.error.code, limited.headers['retry-after']]).toEqual(['rate_limited', '1']);
        const weak = await Promise.all(
          Array.from({ length: 8 }, () => call({ ...wrong, new_password: 'short' })),
        );
        for (const answer of weak) refused(answer, 400, 'validation_failed');
      } finally {
        await busy.close();
      }
    });
  });

  test('of two concurrent changes one wins; the other has verified a password that is no longer valid', async () => {
    const other = await signIn(app, alice.username);
    const passwords = [NEW_PASSWORD, 'amber kettle orchard'];
    const answers = await Promise.all(
      [alice, other].map((as, index) => change(as, { ...good, new_password: passwords[index] })),
    );
    const won = answers.findIndex((answer) => answer.status === 204);
    expect(answers.map((answer) => answer.status).sort()).toEqual([204, 401]);
    expect(await isSignedIn(await signIn(app, alice.username, undefined, passwords[won]))).toBe(true);
    await expect(signIn(app, alice.username, undefined, passwords[1 - won])).rejects.toThrow();
  });

  test('no sign-in with the old password outlives the change, in whatever order they run', async () => {
    for (let round = 0; round < 10; round += 1) {
      const person = await signUp(app, `racer${number}-${round}`);
      const [changed, ...logins] = await Promise.all([
        change(person, good),
        ...Array.from({ length: 4 }, () => signIn(app, person.username).catch(() => null)),
      ]);
      expect(changed.status).toBe(204);
      for (const token of logins) if (token !== null) expect(await isSignedIn(token)).toBe(false);
    }
  });

  test('live sessions go on, and event streams of the old tokens end', async () => {
    const made = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name: 'Demo' } });
    const session = { appId: made.body.app.id, userId: alice.id, state: 'pending' } as const;
    const sessionId = await addSession(app, session);
    const stream = await openEventStream(origin, alice, sessionId);
    expect((await change(alice, good)).status).toBe(204);
    await app.clock.pass(6 * SECOND_MS);
    expect(await stream.ended).toContain('"state":"pending"');
    const { body } = await app.call(app.people.admin, 'GET', `/v1/sessions/${sessionId}`);
    expect(body.session.state).toBe('pending');
  });

  test('passwords are in no log and no audit row', async () => {
    await change(alice, { ...good, current_password: 'canary-current-password' });
    await change(alice, { ...good, new_password: 'canary-new-password-1' });
    expect(app.log.join('')).not.toContain('canary-');
    const rows = await app.plane.platform.database.db.selectFrom('activity').selectAll().execute();
    expect(rows.filter((row) => row.actor_user_id === alice.id)).toEqual([]);
  });
});
