import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, describeSqlite, type Person, type TestApp } from '../../../testing/index.ts';

/** An admitted request whose sender has not sent the last byte yet. */
interface HeldBack {
  finish(): Promise<{ status: number; code: string | undefined }>;
}

describeSqlite('a request whose body is kept back until the caller may do less', (databases) => {
  let app: TestApp;
  let http: string;
  let people = 0;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh(), {});
    ({ http } = await app.plane.listen());
  });
  afterAll(() => app.close());

  const newPerson = (role: Person['role']): Promise<Person> => {
    people += 1;
    return app.addPerson(`person-${people}`, role);
  };

  async function holdBack(as: Person, method: string, path: string, body: object): Promise<HeldBack> {
    const text = JSON.stringify(body);
    const sent: ClientRequest = request(`${http}${path}`, {
      method,
      agent: false,
      headers: {
        authorization: `Bearer ${as.token}`,
        'content-length': text.length,
        // The answer `100 Continue` shows that the head was read.
        expect: '100-continue',
      },
    });
    sent.flushHeaders();
    await once(sent, 'continue');
    sent.write(text.slice(0, -1));
    // One more request on the same event loop: when it is answered, the rights of the first one were read.
    await app.call(as, 'GET', '/v1/me');
    return {
      async finish() {
        sent.end(text.slice(-1));
        const [answer] = (await once(sent, 'response')) as [IncomingMessage];
        let received = '';
        for await (const chunk of answer.setEncoding('utf8')) received += chunk;
        const { error } = received === '' ? {} : JSON.parse(received);
        return { status: answer.statusCode ?? 0, code: error?.code };
      },
    };
  }

  test('an administrator who was demoted meanwhile does not become one again', async () => {
    const demoted = await newPerson('admin');
    const held = await holdBack(demoted, 'PATCH', `/v1/users/${demoted.id}`, { role: 'admin' });
    const answer = await app.call(app.people.admin, 'PATCH', `/v1/users/${demoted.id}`, {
      body: { role: 'user' },
    });
    expect(answer.status).toBe(200);
    expect(await held.finish()).toEqual({ status: 403, code: 'forbidden' });
    expect((await app.call(demoted, 'GET', '/v1/me')).body.user.role).toBe('user');
  });

  test('an account that was disabled meanwhile changes nothing', async () => {
    const disabled = await newPerson('admin');
    const held = await holdBack(disabled, 'PATCH', `/v1/users/${disabled.id}`, { disabled: false });
    const body = { disabled: true };
    expect((await app.call(app.people.admin, 'PATCH', `/v1/users/${disabled.id}`, { body })).status).toBe(
      200,
    );
    expect(await held.finish()).toEqual({ status: 401, code: 'unauthorized' });
    expect((await app.call(disabled, 'GET', '/v1/me')).status).toBe(401);
  });

  test('a person who signed out meanwhile changes nothing', async () => {
    const person = await newPerson('user');
    const held = await holdBack(person, 'PATCH', '/v1/me/ui-preferences', { stolen: true });
    expect((await app.call(person, 'POST', '/v1/auth/logout')).status).toBe(204);
    expect(await held.finish()).toEqual({ status: 401, code: 'unauthorized' });
  });

  test('a person whose body only takes its time is served', async () => {
    const person = await newPerson('user');
    const held = await holdBack(person, 'PATCH', '/v1/me/ui-preferences', { kept: true });
    expect(await held.finish()).toEqual({ status: 200, code: undefined });
  });
});
