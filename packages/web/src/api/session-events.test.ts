// @vitest-environment happy-dom
import type { Session } from '@footlight/protocol/rest';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { failedSession, session } from '../../test/fixtures.ts';
import { EventParser, followSession } from './session-events.ts';

const line = (record: Session) => `event: session\ndata: ${JSON.stringify({ session: record })}\n\n`;
const streamOf = (...pieces: string[]) =>
  new Response(
    new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
        controller.close();
      },
    }),
  );

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe('the event stream', () => {
  test('is read across any chunk boundary, with either line end, and without comments', () => {
    const text = ': hello\r\n\r\nevent: session\r\ndata: {"a":\ndata: 1}\n\ndata:x\n\nevent: empty\n\n';
    for (let cut = 0; cut <= text.length; cut++) {
      const parser = new EventParser();
      const events = [...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))];
      expect(events, `cut at ${cut}`).toEqual([
        { event: 'session', data: '{"a":\n1}' },
        { event: 'message', data: 'x' },
      ]);
    }
  });

  test('ends with the session, after every record was reported', async () => {
    vi.stubGlobal('fetch', async () =>
      streamOf(line(session(1, { state: 'starting' })), `${line(session(1))}${line(failedSession)}`),
    );
    const seen: string[] = [];
    await followSession('1', {
      signal: new AbortController().signal,
      onSession: (record) => seen.push(record.state),
      onLink: () => {},
    });
    expect(seen).toEqual(['starting', 'running', 'failed']);
  });

  test('is reopened after an interruption, and a refusal is thrown', async () => {
    vi.useFakeTimers();
    const answers = [
      () => streamOf(line(session(1, { state: 'starting' }))),
      () => Promise.reject(new TypeError('network')),
      () => Response.json({ error: { code: 'forbidden', message: '' } }, { status: 403 }),
    ];
    vi.stubGlobal('fetch', async () => (answers.shift() ?? expect.unreachable('too often'))());
    const links: boolean[] = [];
    const ended = expect(
      followSession('1', {
        signal: new AbortController().signal,
        onSession: () => {},
        onLink: (up) => links.push(up),
      }),
    ).rejects.toMatchObject({ code: 'forbidden' });
    await vi.runAllTimersAsync();
    await ended;
    expect(links).toEqual([true, false, false]);
  });

  test('is reopened after a minute without a comment from the server', async () => {
    vi.useFakeTimers();
    const opened: AbortSignal[] = [];
    const abort = new AbortController();
    vi.stubGlobal('fetch', async (_url: string, { signal }: RequestInit) => {
      if (signal) opened.push(signal);
      const stream = new ReadableStream({
        start: (controller) =>
          signal?.addEventListener('abort', () => controller.error(new DOMException('', 'AbortError'))),
      });
      return new Response(stream);
    });
    const ended = followSession('1', { signal: abort.signal, onSession: () => {}, onLink: () => {} });
    await vi.advanceTimersByTimeAsync(59_000);
    expect(opened).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(opened.map(({ aborted }) => aborted)).toEqual([true, false]);
    abort.abort();
    await vi.runAllTimersAsync();
    await expect(ended).resolves.toBeUndefined();
  });

  test('an abort ends the pause between attempts', async () => {
    vi.useFakeTimers();
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('network')));
    const abort = new AbortController();
    const ended = followSession('1', {
      signal: abort.signal,
      onSession: () => {},
      onLink: () => abort.abort(),
    });
    await expect(ended).resolves.toBeUndefined();
  });
});
