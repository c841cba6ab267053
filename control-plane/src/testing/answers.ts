import type { ErrorCode } from '@footlight/protocol/rest';
import { expect } from 'vitest';
import type { Answer } from './app.ts';

/** A well-formed id that nothing has. */
export const UNKNOWN_ID = '00000000-0000-0000-0000-000000000000';

/** Expects a refusal with this code. @returns its message */
export function refused(answer: Answer, status: number, code: ErrorCode): string {
  expect([answer.status, answer.body?.error?.code], answer.text).toEqual([status, code]);
  return answer.body.error.message;
}
