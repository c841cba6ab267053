import type { SessionTraceEvent } from '@footlight/protocol/agent';

/** An event of the reliable lane with its number. */
export type ReliableEvent = SessionTraceEvent & { seq: number };

/** Captures have their own retention. Pure. */
export const isCapture = (type: string): boolean => type.startsWith('diag.');
