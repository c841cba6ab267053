import { describe, expect, test } from 'vitest';
import {
  decideEnrollment,
  type EnrollmentFacts,
  type OneUseToken,
  readNodeCredential,
} from './enrollment.ts';

const NOW = 1_000_000;
const ENROLL_ID = 'a'.repeat(64);
const fixed = { kind: 'fixed' } as const;
const oneUse = (row: Partial<OneUseToken> = {}) =>
  ({
    kind: 'one_use',
    row: {
      id: 'token',
      node_name: null,
      bound_node_name: null,
      bound_enroll_id: null,
      expires_at: NOW + 1,
      used_at: null,
      ...row,
    },
  }) as const;
const bound = { bound_node_name: 'render-1', bound_enroll_id: ENROLL_ID };
const counts = { counts: true };
const neverReported = { counts: false };

const decide = (facts: Partial<EnrollmentFacts>) =>
  decideEnrollment({
    nodeName: 'render-1',
    enrollId: ENROLL_ID,
    token: fixed,
    host: null,
    live: false,
    nowMs: NOW,
    ...facts,
  }).kind;

describe('who may enroll a name', () => {
  test.each<[Partial<EnrollmentFacts>, ReturnType<typeof decide>, string]>([
    [{ token: null }, 'unauthorized', 'an unknown token'],
    [{ token: fixed }, 'enroll', 'the fixed token, a new name'],
    [{ token: oneUse() }, 'enroll', 'a one-use token, a new name'],
    [{ token: oneUse({ expires_at: NOW }) }, 'unauthorized', 'an expired token'],
    [{ token: oneUse({ used_at: 1 }) }, 'unauthorized', 'a spent token'],
    [{ token: oneUse({ node_name: 'render-2' }) }, 'unauthorized', 'a token minted for another name'],
    [{ token: oneUse(bound) }, 'enroll', 'a bound token, used again by its pair'],
    [{ token: oneUse(bound), nodeName: 'render-2' }, 'unauthorized', 'a bound token under another name'],
    [{ token: oneUse(bound), enrollId: 'b'.repeat(64) }, 'unauthorized', 'a bound token of another agent'],
    [{ token: oneUse(bound), enrollId: null }, 'unauthorized', 'a bound token without the id it is bound to'],
    [{ token: fixed, live: true }, 'conflict', 'a connected name'],
    [
      { token: oneUse({ node_name: 'render-1' }), live: true },
      'conflict',
      'a connected name and its own token',
    ],
    [{ token: null, live: true }, 'unauthorized', 'an unknown token learns nothing of the name'],
    [{ token: fixed, host: counts }, 'conflict', 'the fixed token for a record that counts'],
    [{ token: oneUse(), host: counts }, 'conflict', 'any one-use token for a record that counts'],
    [{ token: oneUse({ node_name: 'render-1' }), host: counts }, 'enroll', 'a token minted for that record'],
    [{ token: fixed, host: neverReported }, 'enroll', 'a lost answer locks nobody out'],
    [{ token: oneUse(bound), host: neverReported }, 'enroll', 'a lost answer, asked for again'],
  ])('%# → %s: %s', (facts, expected) => {
    expect(decide(facts)).toBe(expected);
  });

  test('the conflict says what to do', () => {
    const decision = decideEnrollment({
      nodeName: 'render-1',
      enrollId: null,
      token: fixed,
      host: counts,
      live: false,
      nowMs: NOW,
    });
    expect(decision).toMatchObject({
      message: expect.stringContaining('delete the host, or mint a token for it'),
    });
  });
});

describe('the node credential', () => {
  const headers = {
    'x-service-node': 'render-1',
    'x-service-boot': '00000000-0000-4000-8000-000000000001',
    authorization: 'Bearer secret',
  };

  test('is read from its headers', () => {
    expect(readNodeCredential(headers)).toEqual({
      kind: 'secret',
      nodeName: 'render-1',
      bootId: '00000000-0000-4000-8000-000000000001',
      secret: 'secret',
    });
    expect(
      readNodeCredential({ ...headers, authorization: 'Enroll a token', 'x-service-enroll': ENROLL_ID }),
    ).toMatchObject({ kind: 'enroll', token: 'a token', enrollId: ENROLL_ID });
    expect(readNodeCredential({ 'x-service-node': 'n', authorization: 'Enroll t' })).toMatchObject({
      bootId: null,
      enrollId: null,
    });
  });

  test.each<[Record<string, string | string[] | undefined>, string]>([
    [{ 'x-service-node': undefined }, 'no name'],
    [{ 'x-service-node': 'Render-1' }, 'upper case in the name'],
    [{ 'x-service-node': '-render' }, 'a name that starts with a dash'],
    [{ 'x-service-node': 'a'.repeat(64) }, 'a long name'],
    [{ 'x-service-node': ['a', 'b'] }, 'two names'],
    [{ authorization: undefined }, 'no credential'],
    [{ authorization: 'Basic abc' }, 'another scheme'],
    [{ authorization: 'Bearer ' }, 'an empty secret'],
    [{ authorization: `Bearer ${'a'.repeat(600)}` }, 'a huge secret'],
    [{ 'x-service-boot': 'boot' }, 'a boot id that is no uuid'],
    [{ authorization: 'Enroll token', 'x-service-enroll': 'A'.repeat(64) }, 'an enroll id that is not hex'],
  ])('%o is none: %s', (broken) => {
    expect(readNodeCredential({ ...headers, ...broken })).toBeNull();
  });
});
