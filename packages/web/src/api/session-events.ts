import { pause } from '@footlight/platform/timer';
import type { Session } from '@footlight/protocol/rest';
import { isTerminal } from '@footlight/protocol/session-states';
import { clock } from '../clock.ts';
import { ApiFailure, send } from './client.ts';
import { retryDelayMs } from './retry-delay.ts';

/** One server-sent event. */
export interface ServerEvent {
  event: string;
  data: string;
}

/** The server sends a comment every 25 s. If two comments are missing, the stream is reopened. */
const SILENCE_MS = 60_000;

/** Larger events are dropped. A session record has only a few kilobytes. */
const MAX_EVENT_CHARS = 1024 * 1024;

/**
 * Splits a text stream into server-sent events; comments and unknown fields are skipped.
 * Source: WHATWG HTML, "Parsing an event stream".
 */
export class EventParser {
  private rest = '';
  private event = '';
  private data: string[] = [];
  private chars = 0;

  /** Adds text and returns the completed events. */
  push(text: string): ServerEvent[] {
    const done: ServerEvent[] = [];
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? '';
    if (this.rest.length > MAX_EVENT_CHARS) this.rest = '';
    for (const line of lines) {
      if (line === '') {
        if (this.data.length > 0) done.push({ event: this.event || 'message', data: this.data.join('\n') });
        this.event = '';
        this.data = [];
        this.chars = 0;
        continue;
      }
      const colon = line.indexOf(':');
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
      if (field === 'event') this.event = value;
      if (field !== 'data') continue;
      this.chars += value.length;
      if (this.chars <= MAX_EVENT_CHARS) this.data.push(value);
    }
    return done;
  }
}

/**
 * Reads the changes of one session until it ends or the signal aborts. Uses fetch, because EventSource cannot send the
 * bearer header. A broken stream is reopened with backoff and jitter. Each new stream starts with a snapshot, so no
 * change is missed.
 * @param onSession called with every record, the first one at once
 * @param onLink called with false when the stream breaks, with true when it is restored
 * @returns when the session has ended or the signal aborted
 * @throws ApiFailure when the server refuses (403, 404, 401)
 */
export async function followSession(
  id: string,
  follow: { signal: AbortSignal; onSession: (session: Session) => void; onLink: (up: boolean) => void },
): Promise<void> {
  let failures = 0;
  let over = false;
  while (!over && !follow.signal.aborted) {
    const opening = new AbortController();
    const stop = () => opening.abort();
    follow.signal.addEventListener('abort', stop);
    let silence = clock.setTimeout(stop, SILENCE_MS);
    try {
      const response = await send('sessions.events', { params: { id }, signal: opening.signal });
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      const parser = new EventParser();
      follow.onLink(true);
      for (;;) {
        const piece = await reader?.read();
        silence.cancel();
        silence = clock.setTimeout(stop, SILENCE_MS);
        if (piece === undefined || piece.done) break;
        for (const event of parser.push(piece.value)) {
          if (event.event !== 'session') continue;
          const { session } = JSON.parse(event.data) as { session: Session };
          failures = 0;
          over = isTerminal(session.state);
          follow.onSession(session);
        }
      }
    } catch (error) {
      if (follow.signal.aborted) return;
      const refused = error instanceof ApiFailure && error.status >= 400 && error.status < 500;
      if (refused && error.code !== 'rate_limited') throw error;
    } finally {
      silence.cancel();
      follow.signal.removeEventListener('abort', stop);
    }
    if (over || follow.signal.aborted) return;
    follow.onLink(false);
    await pause(clock, retryDelayMs(failures), follow.signal);
    failures += 1;
  }
}
