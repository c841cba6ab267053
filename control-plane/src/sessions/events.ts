/**
 * Event streams: a page receives the changes of one session. A stream sends a snapshot, then one record for each
 * change. It ends after the final state, when the page disconnects, or when its bearer token is no longer valid.
 */

import type { ServerResponse } from 'node:http';
import type { Timer } from '@footlight/platform';
import { SECOND_MS } from '@footlight/platform';
import { isTerminal } from '@footlight/protocol';
import type { Session } from '@footlight/protocol/rest';
import type { Subscription } from '../platform/bus/bus.ts';
import { ApiError } from '../platform/errors.ts';
import type { Platform } from '../platform/platform.ts';
import { type SessionChange, sessionSubjects } from '../signaling/index.ts';
import { recordsSince } from './changes.ts';

/** Each open page has one stream. People open fewer than 20 pages, but a faulty page could open more streams. */
const MAX_STREAMS_PER_USER = 20;
const KEEP_ALIVE_MS = 25 * SECOND_MS;
/** Interval at which an idle stream checks its bearer token. docs/people.md promises 5 s. */
const SIGN_IN_CHECK_MS = 5 * SECOND_MS;
/** Maximum changes that wait while one snapshot is read; further changes are only sent as part of the snapshot. */
const MAX_DUE_CHANGES = 64;
/**
 * A stream that has read the final state waits this long for earlier changes that were not announced yet. An
 * announcement follows its commit within milliseconds; chosen, not measured. The wait is limited, because an
 * announcement is lost when its process ends.
 */
const FINAL_CHANGE_MS = SECOND_MS;
/** Unsent bytes after which a slow reader is disconnected. */
const MAX_UNREAD_BYTES = 1024 * 1024;

interface StreamRequest {
  sessionId: string;
  userId: string;
  response: ServerResponse;
  /** Whether the request's bearer token is still valid. */
  isSignedIn(): Promise<boolean>;
  /** The current record; null when the session was deleted. */
  snapshot(): Promise<Session | null>;
}

export interface EventStreams {
  /** Reserves a stream before the answer begins. @throws ApiError 429 when the user has too many streams */
  reserve(userId: string): { release(): void };
  /** Serves the stream; the reservation is released when the stream ends. */
  serve(request: StreamRequest, slot: { release(): void }): void;
  close(): void;
}

const isFinal = ({ state }: SessionChange): boolean => state !== undefined && isTerminal(state);

export function createEventStreams(platform: Pick<Platform, 'bus' | 'clock' | 'logger'>): EventStreams {
  const { bus, clock, logger } = platform;
  const open = new Map<string, number>();
  const enders = new Set<() => void>();

  return {
    reserve(userId) {
      const count = open.get(userId) ?? 0;
      if (count >= MAX_STREAMS_PER_USER)
        throw new ApiError('rate_limited', { message: 'Too many event streams are open for this account.' });
      open.set(userId, count + 1);
      let released = false;
      return {
        release() {
          if (released) return;
          released = true;
          const remaining = (open.get(userId) ?? 1) - 1;
          if (remaining === 0) open.delete(userId);
          else open.set(userId, remaining);
        },
      };
    },

    serve(request, slot) {
      const { response, sessionId } = request;
      const timers: Timer[] = [];
      const subscriptions: Subscription[] = [];
      let ended = false;
      let finalTimer: Timer | null = null;
      let isFinalOverdue = false;
      /** Announced changes that no sent record contains yet. */
      let due: SessionChange[] = [];
      let stale = false;
      let sending = false;
      let shown: Session | null = null;
      let lastSent = '';

      const end = (): void => {
        if (ended) return;
        ended = true;
        for (const subscription of subscriptions) subscription.close();
        for (const timer of timers) timer.cancel();
        finalTimer?.cancel();
        enders.delete(end);
        slot.release();
        response.end();
      };
      const write = (text: string): void => {
        if (ended) return;
        response.write(text);
        if (response.writableLength > MAX_UNREAD_BYTES) {
          response.destroy();
          end();
        }
      };
      const send = async (): Promise<void> => {
        stale = true;
        if (sending) return;
        sending = true;
        try {
          while (stale && !ended) {
            stale = false;
            if (!(await request.isSignedIn())) return end();
            // Take the changes before the read, because the snapshot may not contain a change that is announced during
            // the read.
            const announced = due;
            due = [];
            const now = await request.snapshot();
            if (now === null) return end();
            if (shown !== null && isTerminal(now.state) && !isFinalOverdue && !announced.some(isFinal)) {
              due = [...announced, ...due];
              finalTimer ??= clock.setTimeout(() => {
                isFinalOverdue = true;
                void send();
              }, FINAL_CHANGE_MS);
              stale = due.some(isFinal);
              continue;
            }
            for (const session of recordsSince(shown, announced, now)) {
              const data = JSON.stringify({ session });
              if (data !== lastSent) write(`event: session\ndata: ${data}\n\n`);
              lastSent = data;
            }
            shown = now;
            if (isTerminal(now.state)) return end();
          }
        } catch (error) {
          // End the stream, because without a change the page would show a wrong state. The page reconnects and
          // receives a new snapshot.
          logger.warn({ session_id: sessionId, err: error }, 'session.stream_failed');
          end();
        } finally {
          sending = false;
        }
      };
      const checkSignIn = async (): Promise<void> => {
        try {
          if (!(await request.isSignedIn())) end();
        } catch (error) {
          logger.warn({ session_id: sessionId, err: error }, 'session.stream_check_failed');
        }
      };

      // A client that disconnected during the checks has already emitted `close`, so end the stream here; no later
      // event would do it.
      if (response.destroyed || response.closed) {
        slot.release();
        return;
      }
      response.on('close', end);
      enders.add(end);
      response.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
        'x-content-type-options': 'nosniff',
      });
      response.flushHeaders();
      subscriptions.push(
        bus.subscribe(sessionSubjects.changed, sessionId, (change) => {
          if (due.length < MAX_DUE_CHANGES) due.push(change);
          void send();
        }),
        bus.onGap(() => void send()),
      );
      timers.push(
        clock.setInterval(() => write(': keep-alive\n\n'), KEEP_ALIVE_MS),
        clock.setInterval(() => void checkSignIn(), SIGN_IN_CHECK_MS),
      );
      void send();
    },

    close() {
      for (const end of [...enders]) end();
    },
  };
}
