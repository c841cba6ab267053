import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createLogger } from '@footlight/platform';
import { expect, test } from 'vitest';
import { createInProcessBus } from '../platform/bus.ts';
import { ManualClock } from '../testing/index.ts';
import { createEventStreams } from './events.ts';
import { RUNNING } from './testing/running-session.ts';

/** A response of which only the state of the connection matters. */
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
  end(): void {}
  destroy(): void {
    this.destroyed = true;
  }
  hangUp(): void {
    this.closed = true;
    this.destroyed = true;
    this.emit('close');
  }
}

test('people who left before the stream began use up none of their streams', async () => {
  const clock = new ManualClock();
  const logger = createLogger('silent');
  const bus = createInProcessBus({ clock, logger });
  const streams = createEventStreams({ bus, clock, logger });
  const asked: string[] = [];
  for (let count = 0; count < 25; count += 1) {
    const connection = new Connection();
    const slot = streams.reserve('alice');
    // The page went away while the session was looked up.
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

test('a stream is ended by the page that leaves, and frees its place', async () => {
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
