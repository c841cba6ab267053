import { CAPTURE_BUDGET } from '@footlight/protocol/agent';
import type { Success } from '@footlight/protocol/rest';
import type { Agents, Links } from '../../fleet/index.ts';
import { instant } from '../../platform/database/index.ts';
import type { Platform } from '../../platform/platform.ts';
import { UNKNOWN_SESSION } from '../access/join-rules.ts';
import { refusalError } from '../launch/refusal.ts';
import { loadSession } from '../store.ts';
import {
  type CaptureRequest,
  isUnderWay,
  judgeAgent,
  judgeAnswer,
  judgeCaptured,
  readOrder,
} from './capture-rules.ts';

export interface Captures {
  /** Requests a capture from the host of a running session. @throws ApiError with the first refusal */
  capture(
    actorUserId: string,
    sessionId: string,
    request: CaptureRequest,
  ): Promise<Success<'admin.sessions.capture'>>;
}

/** Requests captures from the hosts of running sessions. The results arrive as events of these sessions. */
export function createCaptures(
  { activity, clock, database, random }: Platform,
  { agents, links }: { agents: Agents; links: Links },
): Captures {
  return {
    async capture(actorUserId, sessionId, request) {
      const row = await loadSession(database.db, sessionId);
      if (row === undefined) throw refusalError(UNKNOWN_SESSION);
      const read = readOrder(request);
      if ('refusal' in read) throw refusalError(read.refusal);
      const captured = judgeCaptured(row);
      if ('refusal' in captured) throw refusalError(captured.refusal);
      const { hostId } = captured;
      const link = await agents.link(hostId);
      const unable = judgeAgent(link === null ? null : link.features);
      if (unable !== null) throw refusalError(unable);
      const { kind, ...params } = read.order;
      const capture_id = random.uuid();
      const result = await agents.command(hostId, {
        type: 'session_capture',
        session_id: sessionId,
        capture_id,
        kind,
        budget: CAPTURE_BUDGET,
        params,
      });
      if (isUnderWay(result))
        await activity.record(actorUserId, 'session.capture', sessionId, { kind, capture_id });
      const refusal = judgeAnswer(result);
      if (refusal !== null) {
        links.log('info', hostId, { session_id: sessionId, kind, result }, 'session.capture_refused');
        throw refusalError(refusal);
      }
      return { capture_id, kind, session_id: sessionId, accepted_at: instant(clock.nowMs()) };
    },
  };
}
