import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createLogger } from '@footlight/platform';
import type { Session } from '@footlight/protocol/rest';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Bus } from '../platform/bus/bus.ts';
import { createInProcessBus } from '../platform/bus/in-process.ts';
import { withOtherReplicas } from '../platform/bus/testing/other-replicas.ts';
import { sessionSubjects } from '../signaling/index.ts';
import { ManualClock } from '../testing/index.ts';
import { createEventStreams } from './events.ts';
import { RUNNING } from './testing/running-session.ts';

/** A fake HTTP response; a test can close its connection. */
class Connection extends EventEmitter {
  closed = false;
  destroyed = false;
  writableLength = 0;
  written = '';
  writeHead(): void {}
  flushHeaders(): void {}
  write(text: string): void {
    this.written += text;
  }
  isEnded = false;
  end(): void {
    this.isEnded = true;
  }
  destroy(): void {
    this.destroyed = true;
  }
  hangUp(): void {
    this.closed = true;
    this.destroyed = true;
    this.emit('close');
  }
}

test('clients that disconnect before the stream begins use up none of their streams', async () => {
  const clock = new ManualClock();
  const logger = createLogger('silent');
  const bus = createInProcessBus({ clock, logger });
  const streams = createEventStreams({ bus, clock, logger });
  const asked: string[] = [];
  for (let count = 0; count < 25; count += 1) {
    const connection = new Connection();
    const slot = streams.reserve('alice');
    // The page disconnected while the session was looked up.
    connection.hangUp();
    streams.serve(
      {
        sessionId: 'one',
        userId: 'alice',
        response: connection as unknown as ServerResponse,
        isSignedIn: async () => true,
        async snapshot() {
          asked.push('snapshot');
          return RUNNING;
        },
      },
      slot,
    );
  }
  await clock.pass(60_000);
  expect(asked).toEqual([]);
  streams.close();
  await bus.close();
});

test('a stream ends when its page disconnects, and frees its place', async () => {
  const clock = new ManualClock();
  const logger = createLogger('silent');
  const bus = createInProcessBus({ clock, logger });
  const streams = createEventStreams({ bus, clock, logger });
  for (let count = 0; count < 50; count += 1) {
    const connection = new Connection();
    streams.serve(
      {
        sessionId: 'one',
        userId: 'alice',
        response: connection as unknown as ServerResponse,
        isSignedIn: async () => true,
        snapshot: async () => RUNNING,
      },
      streams.reserve('alice'),
    );
    await clock.pass(0);
    expect(connection.written).toContain('event: session');
    connection.hangUp();
  }
  await bus.close();
});

/** Opens a stream of the running session for one person. */
function follow(deps: Parameters<typeof createEventStreams>[0], snapshot: () => Session): Connection {
  const connection = new Connection();
  const streams = createEventStreams(deps);
  streams.serve(
    {
      sessionId: RUNNING.id,
      userId: 'alice',
      response: connection as unknown as ServerResponse,
      isSignedIn: async () => true,
      snapshot: async () => snapshot(),
    },
    streams.reserve('alice'),
  );
  return connection;
}

test('a stream shows what changed while the bus was away, and its subscriptions end with it', async () => {
  const clock = new ManualClock();
  const logger = createLogger('silent');
  const { bus, gap, listeners } = withOtherReplicas(createInProcessBus({ clock, logger }));
  let now = RUNNING;
  const connection = follow({ bus, clock, logger }, () => now);
  await clock.pass(0);
  now = { ...RUNNING, state_detail: 'changed meanwhile' };
  gap();
  await clock.pass(0);
  expect(connection.written).toContain('changed meanwhile');
  connection.hangUp();
  expect(listeners.size).toBe(0);
  await bus.close();
});

describe('a stream that reads the final state before its announcement', () => {
  const logger = createLogger('silent');
  const ENDED: Session = { ...RUNNING, state: 'stopped', ended_at: RUNNING.created_at };
  let clock: ManualClock;
  let bus: Bus;
  let connection: Connection;
  let now: Session;

  /** State and detail of each event that was written. */
  const events = () =>
    [...connection.written.matchAll(/^data: (.*)$/gm)].map(([, data]) => {
      const { session } = JSON.parse(data ?? '') as { session: Session };
      return [session.state, session.state_detail];
    });

  beforeEach(async () => {
    clock = new ManualClock();
    bus = createInProcessBus({ clock, logger });
    now = RUNNING;
    connection = follow({ bus, clock, logger }, () => now);
    await clock.pass(0);
    now = ENDED;
    bus.publish(sessionSubjects.changed, RUNNING.id, { state: 'running', state_detail: 'first' });
    await clock.pass(0);
  });

  test('sends every change before it', async () => {
    bus.publish(sessionSubjects.changed, RUNNING.id, { state: 'running', state_detail: 'second' });
    await clock.pass(0);
    bus.publish(sessionSubjects.changed, RUNNING.id, { state: 'stopped' });
    await clock.pass(0);
    expect(events()).toEqual([
      ['running', RUNNING.state_detail],
      ['running', 'first'],
      ['running', 'second'],
      ['stopped', RUNNING.state_detail],
    ]);
    expect(connection.isEnded).toBe(true);
  });

  test('ends without the announcement after a second', async () => {
    await clock.pass(999);
    expect(connection.isEnded).toBe(false);
    await clock.pass(1);
    expect(events()).toEqual([
      ['running', RUNNING.state_detail],
      ['running', 'first'],
      ['stopped', RUNNING.state_detail],
    ]);
    expect(connection.isEnded).toBe(true);
  });
});
