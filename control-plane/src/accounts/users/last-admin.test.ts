import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Standing, takesLastAdmin } from './last-admin.ts';

const ADMIN: Standing = { role: 'admin', disabled: false };
const USER: Standing = { role: 'user', disabled: false };
const SHUT_ADMIN: Standing = { role: 'admin', disabled: true };
const SHUT_USER: Standing = { role: 'user', disabled: true };

describe('the last enabled administrator', () => {
  test.each([
    ['demoted', ADMIN, USER, true],
    ['disabled', ADMIN, SHUT_ADMIN, true],
    ['demoted and disabled', ADMIN, SHUT_USER, true],
    ['deleted', ADMIN, null, true],
    ['left as it is', ADMIN, ADMIN, false],
    ['a user, disabled', USER, SHUT_USER, false],
    ['a user, deleted', USER, null, false],
    ['a disabled administrator, who does not count, demoted', SHUT_ADMIN, SHUT_USER, false],
    ['a disabled administrator, deleted', SHUT_ADMIN, null, false],
    ['a user, made administrator', USER, ADMIN, false],
  ] as const)('%s: refused %s → %s: %s', (_, before, after, refused) => {
    expect(takesLastAdmin(before, after, 0)).toBe(refused);
    expect(takesLastAdmin(before, after, 1)).toBe(false);
  });

  test('is there after any series of changes that were let through', () => {
    const standing = fc.record({
      role: fc.constantFrom('user' as const, 'admin' as const),
      disabled: fc.boolean(),
    });
    const change = fc.tuple(fc.nat(4), fc.option(standing, { nil: null }));
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
        const people: (Standing | null)[] = [ADMIN, ADMIN, USER, SHUT_ADMIN, USER];
        const isAdmin = (person: Standing | null) => person?.role === 'admin' && !person.disabled;
        for (const [index, after] of changes) {
          const before = people[index];
          if (!before) continue;
          const others = people.filter((person, at) => at !== index && isAdmin(person)).length;
          if (!takesLastAdmin(before, after, others)) people[index] = after;
          expect(people.some(isAdmin)).toBe(true);
        }
      }),
    );
  });
});
