import { describe, expect, test } from 'vitest';
import { LIMITS, mayOpen } from './path-limits.ts';
import { MAX_REGISTRATIONS, Registrations } from './registrations.ts';
import { bindingRequest } from './testing/binding-request.ts';

const first = { ufrag: 'first', pwd: 'password-of-first-000001', address: '127.0.0.1', port: 40_000 };
const second = { ...first, ufrag: 'second', pwd: 'password-of-second-00001', port: 40_001 };

describe('the first packet of an unknown sender', () => {
  const registrations = new Registrations();
  registrations.add(first);
  registrations.add(second);

  test('leads to the connection whose fragment it names and whose password it proves', () => {
    const packet = bindingRequest({ username: 'second:page', pwd: second.pwd });
    expect(registrations.admit(packet)).toEqual(second);
  });

  test.each([
    ['an unknown fragment', bindingRequest({ username: 'third:page', pwd: first.pwd })],
    ["another connection's password", bindingRequest({ username: 'first:page', pwd: second.pwd })],
    ['no fragment', bindingRequest({ username: ':page', pwd: first.pwd })],
    ['no request', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['nothing', Buffer.alloc(0)],
  ])('%s leads nowhere', (_what, packet) => {
    expect(registrations.admit(packet)).toBeNull();
  });

  test('a fragment that is taken is refused; after its end it leads nowhere', () => {
    const own = new Registrations();
    expect(own.add(first)).toBe(true);
    expect(own.add({ ...second, ufrag: 'first' })).toBe(false);
    own.remove('first');
    expect(own.admit(bindingRequest({ username: 'first:page', pwd: first.pwd }))).toBeNull();
  });

  test('the list is limited', () => {
    const own = new Registrations();
    for (let index = 0; index < MAX_REGISTRATIONS; index += 1) own.add({ ...first, ufrag: `u${index}` });
    expect(own.add(second)).toBe(false);
    own.remove('u0');
    expect(own.add(second)).toBe(true);
  });
});

describe('paths are limited', () => {
  const path = (registration: typeof first, address: string) => ({ registration, address });
  test.each([
    ['to one connection', LIMITS.pathsPerConnection, (index: number) => path(first, `10.0.0.${index}`)],
    [
      'from one address',
      LIMITS.pathsPerAddress,
      (index: number) => path({ ...first, ufrag: `u${index}` }, '10.0.0.1'),
    ],
    ['in all', LIMITS.paths, (index: number) => path({ ...first, ufrag: `u${index}` }, `10.0.${index}`)],
  ])('%s', (_what, limit, nth) => {
    const open = Array.from({ length: limit - 1 }, (_, index) => nth(index));
    expect(mayOpen(open, nth(limit - 1))).toBe(true);
    expect(mayOpen([...open, nth(limit - 1)], nth(limit))).toBe(false);
  });
});
