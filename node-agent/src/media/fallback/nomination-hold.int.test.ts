import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { expect, test, vi } from 'vitest';
import { parseCandidate } from '../webrtc/candidates.ts';
import { NominationHold } from './nomination-hold.ts';
import { refusalOf } from './stun.ts';
import { bindingRequest } from './testing/binding-request.ts';

test('its candidate is silent until the release, and then refuses the last check and each later one, of the library only', async () => {
  const lines: string[] = [];
  const library = createSocket('udp4').bind(0, '127.0.0.1');
  await once(library, 'listening');
  const hold = new NominationHold('127.0.0.1', library.address().port, (line) => lines.push(line));
  await vi.waitFor(() => expect(lines).toHaveLength(1), { timeout: 60_000 });
  const { address, port = 0, priority } = parseCandidate(lines[0] ?? '') ?? {};
  expect([address, priority]).toEqual(['127.0.0.1', 2 ** 31 - 1]);
  const answers: Buffer[] = [];
  library.on('message', (packet) => answers.push(packet));
  const check = (user: string) =>
    bindingRequest({ username: `${user}:host`, pwd: 'a-password-of-the-host-01', tieBreaker: 7n });

  const [first, second] = [check('first'), check('second')];
  library.send(first, port, address);
  // A datagram to itself takes as long as an answer would.
  library.send('own', library.address().port, address);
  await once(library, 'message');
  expect(answers.map(String)).toEqual(['own']);

  hold.release();
  await once(library, 'message');
  expect(answers.at(-1)).toEqual(refusalOf(first));
  library.send(second, port, address);
  await once(library, 'message');
  expect(answers.at(-1)).toEqual(refusalOf(second));

  // Neither answered, nor stored as the library's last check. The library's check after it shows that it was read.
  const stranger = createSocket('udp4').bind(0, '127.0.0.1');
  await once(stranger, 'listening');
  const strange: Buffer[] = [];
  stranger.on('message', (packet) => strange.push(packet));
  stranger.send(check('stranger'), port, address);
  stranger.send('own', stranger.address().port, address);
  await once(stranger, 'message');
  library.send(first, port, address);
  await once(library, 'message');
  hold.release();
  await once(library, 'message');
  expect(answers.slice(-2)).toEqual([refusalOf(first), refusalOf(first)]);
  expect(strange.map(String)).toEqual(['own']);
  hold.close();
  hold.close();
  for (const socket of [library, stranger]) socket.close();
});
