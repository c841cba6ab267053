import type { ErrorCode } from '@footlight/protocol/rest';
import { expect } from 'vitest';
import type { Answer } from './app.ts';

/** A valid id that no row has. */
export const UNKNOWN_ID = '00000000-0000-0000-0000-000000000000';

/** Expects an error response with this status and code. @returns the error message */
export function refused(answer: Answer, status: number, code: ErrorCode): string {
  expect([answer.status, answer.body?.error?.code], answer.text).toEqual([status, code]);
  return answer.body.error.message;
}
