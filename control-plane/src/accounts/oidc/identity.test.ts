import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkNewAccount } from '../account-fields.ts';
import {
  type AccountFacts,
  decideRole,
  decideSignIn,
  readIdentity,
  roleOf,
  type SignInFacts,
  usernameChoices,
} from './identity.ts';

const claims = (more: object) => ({ iss: 'https://idp.example', sub: 's', ...more });

describe('claims of a person', () => {
  test.each([
    [{ email: ' Ada@Example.org ', email_verified: true }, 'ada@example.org', true],
    [{ email: 'ada@example.org', email_verified: 'true' }, 'ada@example.org', false],
    [{ email: 'ada@example.org' }, 'ada@example.org', false],
    [{ email: 'no address', email_verified: true }, null, false],
    [{ email: 'a\u202e@example.org', email_verified: true }, null, false],
    [{ email: ['ada@example.org'], email_verified: true }, null, false],
    [{ email_verified: true }, null, false],
  ])('%j: email %s, verified %s', (given, email, isEmailVerified) => {
    expect(readIdentity(claims(given), 'groups')).toMatchObject({ email, isEmailVerified });
  });

  test.each([
    [{ preferred_username: 'ada' }, 'ada'],
    [{ preferred_username: 'ada@corp.example' }, 'ada'],
    [{ preferred_username: '  a  da \u0000' }, 'a da'],
    [{ email: 'ada@example.org' }, 'ada'],
    [{ preferred_username: '', email: 'ada@example.org' }, 'ada'],
    [{ preferred_username: '\u2800\u200b' }, 'user'],
    [{ preferred_username: 7 }, 'user'],
    [{}, 'user'],
    [{ preferred_username: '😀'.repeat(100) }, '😀'.repeat(52)],
  ])('%j: username %s', (given, username) => {
    expect(readIdentity(claims(given), 'groups').username).toBe(username);
  });

  test('every username and its numbered forms fit the rules of accounts', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (preferred_username) => {
        const { username } = readIdentity(claims({ preferred_username }), 'groups');
        for (const choice of usernameChoices(username)) {
          const account = { email: 'ada@example.org', username: choice, password: 'a long walk by the sea' };
          expect(checkNewAccount(account).username).toBe(choice);
        }
      }),
    );
  });

  test.each([
    [{ groups: ['a', 'b'] }, ['a', 'b']],
    [{ groups: 'a' }, ['a']],
    [{ groups: [1, null, 'a', ['b']] }, ['a']],
    [{ groups: { a: true } }, []],
    [{}, []],
  ])('%j: groups %j', (given, groups) => {
    expect(readIdentity(claims(given), 'groups').groups).toEqual(groups);
  });
});

describe('which account a person gets', () => {
  const flags = [false, true];
  const accounts: (AccountFacts | null)[] = [
    null,
    ...flags.flatMap((disabled) => flags.map((internal) => ({ disabled, internal }))),
  ];
  const all = accounts.flatMap((linked) =>
    (linked === null ? accounts : [null]).flatMap((byEmail) =>
      flags.flatMap((isLinkedToAnother) =>
        flags.flatMap((mayRegister) =>
          [null, 'ada@example.org'].flatMap((email) =>
            flags.map(
              (verified): SignInFacts => ({
                identity: { email, isEmailVerified: verified && email !== null },
                linked,
                byEmail: byEmail && { ...byEmail, isLinkedToAnother },
                mayRegister,
              }),
            ),
          ),
        ),
      ),
    ),
  );

  test('an existing account opens only for its own subject or a verified email, and never a disabled one', () => {
    for (const facts of all) {
      const { kind } = decideSignIn(facts);
      if (kind === 'sign_in') expect(facts.linked).toMatchObject({ disabled: false });
      if (kind === 'link') {
        expect(facts.linked).toBeNull();
        expect(facts.identity.isEmailVerified).toBe(true);
        expect(facts.byEmail).toEqual({ disabled: false, internal: false, isLinkedToAnother: false });
      }
      if (kind === 'register') {
        expect(facts).toMatchObject({ linked: null, byEmail: null, mayRegister: true });
        expect(facts.identity.email).not.toBeNull();
      }
    }
  });

  test.each<[string, Partial<SignInFacts>, string]>([
    ['a linked person', { linked: { disabled: false, internal: false } }, 'sign_in'],
    [
      'a linked person whose account is disabled',
      { linked: { disabled: true, internal: false } },
      'account_disabled',
    ],
    ['a new person', {}, 'register'],
    ['a new person while registration is closed', { mayRegister: false }, 'registration_closed'],
    [
      'a new person without an email',
      { identity: { email: null, isEmailVerified: false } },
      'sign_in_not_confirmed',
    ],
  ])('%s: %s', (_, facts, outcome) => {
    const usual: SignInFacts = {
      identity: { email: 'ada@example.org', isEmailVerified: true },
      linked: null,
      byEmail: null,
      mayRegister: true,
    };
    const step = decideSignIn({ ...usual, ...facts });
    expect(step.kind === 'refuse' ? step.code : step.kind).toBe(outcome);
  });
});

describe('the role of a person', () => {
  test('comes from the group, if one is set', () => {
    expect(roleOf(['masters'], null)).toBeNull();
    expect(roleOf(['x', 'masters'], 'masters')).toBe('admin');
    expect(roleOf(['Masters'], 'masters')).toBe('user');
  });

  test.each([
    ['admin', null, 0, { kind: 'keep' }],
    ['admin', 'admin', 0, { kind: 'keep' }],
    ['admin', 'user', 1, { kind: 'change', role: 'user' }],
    ['admin', 'user', 0, { kind: 'keep_last_admin' }],
    ['user', 'admin', 0, { kind: 'change', role: 'admin' }],
    ['user', 'user', 0, { kind: 'keep' }],
  ] as const)('%s, wanted %s, %i other administrators: %j', (role, wanted, others, step) => {
    expect(decideRole({ role, disabled: false }, wanted, others)).toEqual(step);
  });
});
