import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ApiError } from '../../platform/errors.ts';
import { checkNewAccount } from '../account-fields.ts';
import { passwordProblem } from './password-rule.ts';

const alice = { username: 'alice', email: 'al.ice@example.org' };

describe('the password rule', () => {
  test.each([
    ['eleven characters', 'abcdefghi12', /characters/],
    ['eleven characters that are 22 UTF-16 units', '😀'.repeat(11), /characters/],
    ['129 characters', 'x'.repeat(129), /characters/],
    ['the username inside', 'xxALICExxxxx', /username/],
    ['the local part inside', 'xxAl.Icexxxx', /username/],
  ])('refuses %s', (_, password, why) => {
    expect(passwordProblem(password, alice)).toMatch(why);
  });

  test.each([
    'password1234',
    '123456789012',
    'qwertyuiop12',
    'changeme1234',
    'whatever123456',
    'PassWord1234',
  ])('refuses %s as common', (password) => {
    expect(passwordProblem(password, alice)).toMatch(/common/);
  });

  test.each([
    ['twelve characters', 'abcdefghi12_'],
    ['128 characters that are 256 UTF-16 units', '😀'.repeat(128)],
    ['spaces at both ends, which count', ' nine char  '],
    ['a common password with one more character', 'password1234x'],
    ['no classes of characters', 'zzzzzzzzzzzzq'],
  ])('takes %s', (_, password) => {
    expect(passwordProblem(password, alice)).toBeNull();
  });

  test('skips identifiers under three characters', () => {
    expect(passwordProblem('abcdefghijkl', { username: 'ab', email: 'cd@x' })).toBeNull();
    expect(passwordProblem('abcdefghijkl', { username: 'abc', email: 'cd@x' })).toMatch(/username/);
  });
});

describe('the fields of a new account', () => {
  const good = { email: ' A@B.example ', username: ' bob ', password: 'a long enough one' };

  test('trims and lowercases the email, trims the username, keeps the password', () => {
    expect(checkNewAccount(good)).toEqual({ ...good, email: 'a@b.example', username: 'bob' });
  });

  test.each([
    ['email first', { email: 'nobody', username: '', password: '' }, /^email/],
    ['an email of 321 characters', { ...good, email: `${'a'.repeat(320)}@` }, /^email/],
    ['username before password', { ...good, username: '  ', password: '' }, /^username/],
    ['a username of 65 characters', { ...good, username: 'u'.repeat(65) }, /^username/],
    ['the password last', { ...good, password: 'short' }, /^password/],
  ])('refuses %s', (_, fields, why) => {
    expect(() => checkNewAccount(fields)).toThrow(why);
  });

  test('answers any text with a value or a refusal that repeats none of it', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string({ minLength: 4 }), (email, username, password) => {
        try {
          checkNewAccount({ email, username, password });
        } catch (error) {
          expect(error).toBeInstanceOf(ApiError);
          const { message } = error as ApiError;
          if (!/^[a-z0-9 @]*$/.test(password)) expect(message).not.toContain(password);
        }
      }),
    );
  });
});
