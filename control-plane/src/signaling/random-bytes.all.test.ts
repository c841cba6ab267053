import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openSessionsWorld } from '../sessions/testing/world.ts';
import { describeDatabases } from '../testing/index.ts';
import { openPage } from './testing/page.ts';

describeDatabases('signaling', (databases) => {
  test('any bytes close the socket or are ignored, and harm no other connection', async () => {
    const world = await openSessionsWorld(await databases.fresh());
    await world.host('hosta');
    const session = await world.running(world.people.alice, await world.app());
    const open = async () => {
      const path = `/v1/sessions/${session.id}/signaling-token`;
      const { body } = await world.call(world.people.alice, 'POST', path);
      return openPage(world.url, body.signaling.token);
    };
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc
        .record({
          type: fc.constantFrom('hello', 'answer', 'candidate', 'renegotiate', 'bye'),
          pc_id: fc.anything(),
        })
        .map((value) => JSON.stringify(value)),
    );
    const samples = [
      ...fc.sample(text, 30).map((one) => ({ data: one as string | Buffer, binary: false })),
      ...Array.from({ length: 10 }, () => ({ data: randomBytes(40), binary: false })),
      { data: '{"type":"hello","protocol":1,"client_id":"', binary: false },
    ];
    for (const sample of samples) {
      const page = await open();
      page.socket.send(sample.data, { binary: sample.binary });
      page.send('still no hello');
      expect([4400, 4406]).toContain((await page.closed).code);
    }
    const viewer = await open();
    viewer.hello();
    await viewer.next('ready');
    viewer.socket.terminate();
    expect((await world.session(session.id)).state).toBe('running');
    await world.close();
  });
});
