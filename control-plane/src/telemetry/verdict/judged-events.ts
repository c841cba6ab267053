/** Events that verdicts read; conditions.ts and reason.ts define their meaning. */
export const HIDES = 'client.visibility_changed';
export const STALL = 'encoder.stall';
export const ANSWER = 'sdp.answer_applied';
export const XID = 'host.xid';
export const GPU_FAULT = 'host.gpu_fault';

export const JUDGED_EVENTS = [HIDES, STALL, ANSWER, XID, GPU_FAULT] as const;
