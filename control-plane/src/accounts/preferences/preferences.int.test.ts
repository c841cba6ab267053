import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestApp, describeDatabases, type Person, type TestApp } from '../../testing/index.ts';

describeDatabases('the settings of the web client', ({ fresh }) => {
  let app: TestApp;
  let person: Person;
  let number = 0;
  beforeAll(async () => {
    app = await createTestApp(await fresh());
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    number += 1;
    person = await app.addPerson(`person${number}`);
  });

  const read = (as = person) => app.call(as, 'GET', '/v1/me/ui-preferences');
  const patch = (body: unknown, as = person) => app.call(as, 'PATCH', '/v1/me/ui-preferences', { body });
  const stored = async (as = person) => {
    const answer = await read(as);
    expect(answer.status).toBe(200);
    return answer.body;
  };

  test('are an empty overlay at first, and each person has their own', async () => {
    expect(await stored()).toEqual({ session_overlay: {} });
    await patch({ session_overlay: { strip_position: 'left' } });
    expect(await stored()).toEqual({ session_overlay: { strip_position: 'left' } });
    expect(await stored(app.people.bob)).toEqual({ session_overlay: {} });
  });

  test('are merged one level deep, and answered whole', async () => {
    await patch({
      session_overlay: { strip_preset: 'custom', strip_items: { mic: false, exit: true } },
      a: 1,
    });
    const answer = await patch({ session_overlay: { strip_items: { codec: false } }, view: { b: [null] } });
    const whole = {
      session_overlay: { strip_preset: 'custom', strip_items: { codec: false } },
      a: 1,
      view: { b: [null] },
    };
    expect([answer.status, answer.body]).toEqual([200, whole]);
    expect(await stored()).toEqual(whole);
    await patch({ a: null });
    expect((await stored()).a).toBeNull();
    await patch({});
    expect(await stored()).toEqual({ ...whole, a: null });
  });

  test('many concurrent changes of one person do not delay other people', async () => {
    const long = { note: 'x'.repeat(60_000) };
    let done = 0;
    const flood = Array.from({ length: 40 }, async () => {
      const { status } = await patch(long);
      done += 1;
      return status;
    });
    expect((await patch({ note: 'mine' }, app.people.bob)).status).toBe(200);
    expect(done).toBeLessThan(10);
    expect(await Promise.all(flood)).toEqual(Array(40).fill(200));
  });

  test.each(
    Object.entries({
      strip_preset: ['full', 'minimal', 'metrics', 'custom'],
      strip_position: ['top', 'bottom', 'left', 'right'],
      strip_auto_hide: ['on_capture', 'always_visible', 'never_visible'],
    }),
  )('%s takes its values', async (key, values) => {
    for (const value of values)
      expect((await patch({ session_overlay: { [key]: value } })).body.session_overlay[key]).toBe(value);
  });

  test('strip_items takes its nine keys', async () => {
    const names = ['signal', 'identity', 'codec', 'metrics', 'hint', 'capture', 'exit', 'mic', 'fullscreen'];
    const strip_items = Object.fromEntries(names.map((name, index) => [name, index % 2 === 0]));
    expect((await patch({ session_overlay: { strip_items } })).body).toEqual({
      session_overlay: { strip_items },
    });
  });

  test.each([
    ['another key', '{"strip_colour":"red"}'],
    ['__proto__', '{"__proto__":{"strip_preset":"full"}}'],
    ['another value', '{"strip_preset":"tiny"}'],
    ['another case', '{"strip_position":"Top"}'],
    ['null for a value', '{"strip_auto_hide":null}'],
    ['a number', '{"strip_preset":1}'],
    ['an unknown item', '{"strip_items":{"clock":true}}'],
    ['an item that is no boolean', '{"strip_items":{"mic":"true"}}'],
    ['an item that is null', '{"strip_items":{"mic":null}}'],
    ['items that are null', '{"strip_items":null}'],
    ['items that are a list', '{"strip_items":[true]}'],
    ['__proto__ among the items', '{"strip_items":{"__proto__":true}}'],
  ])('%s inside the overlay is 400, and nothing is written', async (_, overlay) => {
    await patch({ session_overlay: { strip_preset: 'full' }, kept: 1 });
    const answer = await patch(`{"session_overlay":${overlay},"kept":2}`);
    expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_failed']);
    expect(answer.body.error.message).toMatch(/^session_overlay/);
    expect(await stored()).toEqual({ session_overlay: { strip_preset: 'full' }, kept: 1 });
  });

  test.each(['[]', '"text"', '5', 'null', '{"session_overlay":[]}', '{"session_overlay":"full"}'])(
    'a body of %s is 400',
    async (body) => expect((await patch(body)).status).toBe(400),
  );

  test('keys such as __proto__ are data', async () => {
    const answer = await patch('{"__proto__":{"polluted":1},"constructor":2}');
    expect(answer.text).toBe('{"__proto__":{"polluted":1},"constructor":2,"session_overlay":{}}');
    expect((await read()).text).toBe(answer.text);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  test('texts that a text column cannot store are returned unchanged', async () => {
    const body = '{"nul":"a\\u0000b","half":"\\ud800"}';
    expect((await patch(body)).status).toBe(200);
    expect(await stored()).toEqual({ ...JSON.parse(body), session_overlay: {} });
  });

  test('the whole document has at most 64 KiB after any change', async () => {
    expect((await patch({ a: 'x'.repeat(40_000) })).status).toBe(200);
    const answer = await patch({ b: 'x'.repeat(40_000) });
    expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_failed']);
    expect(Object.keys(await stored())).toEqual(['a', 'session_overlay']);
    expect((await patch({ a: 'y'.repeat(60_000) })).status).toBe(200);
    expect((await patch({ c: 'x'.repeat(70_000) })).status).toBe(400);
  });

  test('a document nested without end is refused, not stored', async () => {
    const answer = await patch(`{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`);
    expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_failed']);
  });

  test('changes at the same time lose no key', async () => {
    const keys = Array.from({ length: 10 }, (_, index) => `key${index}`);
    const answers = await Promise.all(keys.map((key) => patch({ [key]: true })));
    expect(answers.map((answer) => answer.status)).toEqual(keys.map(() => 200));
    expect(Object.keys(await stored()).sort()).toEqual([...keys, 'session_overlay']);
  });
});
