import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { ApiError } from '../../platform/errors.ts';
import { createVersionGate } from './client-version.ts';

const FLOOR = { minClientVersion: '1.10.0', latestClientVersion: '1.12.0' };
const NO_FLOOR = { minClientVersion: null, latestClientVersion: '1.12.0' };

function gate(policy: { minClientVersion: string | null; latestClientVersion: string | null }) {
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => lines.push(line) });
  return { ...createVersionGate(policy, logger), lines };
}

describe('the client-version gate', () => {
  test.each([
    ['absent', undefined, true, true],
    ['empty', '', true, true],
    ['the floor itself', '1.10.0', true, true],
    ['newer, compared by number and not by text', 'v1.10.1', true, true],
    ['older, compared by number and not by text', '1.9.9', false, false],
    ['beyond what a number holds exactly', `1.9.${'9'.repeat(30)}`, false, false],
    ['with zeros in front', '01.0010.00', true, true],
    ['older, with zeros in front', '1.0009.9', false, false],
    ['malformed', '1.10', true, false],
  ])('floor set, %s: header passes %s, login passes %s', (_, presented, header, login) => {
    const { checkHeader, checkLogin } = gate(FLOOR);
    if (header) expect(() => checkHeader(presented)).not.toThrow();
    else expect(() => checkHeader(presented)).toThrow(ApiError);
    if (login) expect(() => checkLogin(presented)).not.toThrow();
    else expect(() => checkLogin(presented)).toThrow(ApiError);
  });

  test('compares a million digits', () => {
    const digits = '9'.repeat(1_000_000);
    expect(() => gate(FLOOR).checkLogin(`0.${digits}.1`)).toThrow(ApiError);
    expect(() => gate(FLOOR).checkLogin(`${digits}.0.1`)).not.toThrow();
  });

  test('refuses no version without a floor', () => {
    for (const presented of [undefined, '', '0.0.1', 'nonsense']) {
      expect(() => gate(NO_FLOOR).checkHeader(presented)).not.toThrow();
      expect(() => gate(NO_FLOOR).checkLogin(presented)).not.toThrow();
    }
  });

  test('answers 426 with the versions next to the error', () => {
    try {
      gate(FLOOR).checkHeader('1.0.0');
      expect.unreachable();
    } catch (error) {
      const refusal = error as ApiError;
      expect(refusal.status).toBe(426);
      expect(refusal.envelope()).toMatchObject({
        error: { code: 'client_too_old' },
        min_client_version: '1.10.0',
        latest_client_version: '1.12.0',
      });
    }
  });

  test('warns once per malformed value, and of 32 values at most', () => {
    const { checkHeader, lines } = gate(FLOOR);
    for (let i = 0; i < 100; i += 1) {
      checkHeader(`odd ${i}`);
      checkHeader(`odd ${i}`);
    }
    expect(lines).toHaveLength(32);
  });
});
