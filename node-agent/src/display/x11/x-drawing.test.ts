import { EventEmitter } from 'node:events';
import { ManualClock } from '@footlight/platform/testing';
import { expect, test } from 'vitest';
import type { XConnection } from './x-connection.ts';
import { XDrawing } from './x-drawing.ts';

const DAMAGE_EVENT = 91;
const DAMAGE = 7;

/** A fake server that sends a damage event for each write of an app, and answers a request after all earlier writes. */
class Server {
  readonly client = Object.assign(new EventEmitter(), { AllocID: () => DAMAGE });
  answers = 0;
  /** For each of the next answers: whether the app writes again before it. */
  readonly #late: number[] = [];

  async open(): Promise<XDrawing> {
    const extension = {
      firstEvent: DAMAGE_EVENT,
      ReportLevel: { NonEmpty: 3 },
      Create: () => undefined,
      Subtract: () => undefined,
      Destroy: () => undefined,
    };
    return XDrawing.open({
      client: this.client,
      clock: new ManualClock(),
      root: 1,
      closed: false,
      request: async () => extension,
      settle: async () => {
        this.answers += 1;
        if (this.#late.shift() === 1) this.#write();
      },
    } as unknown as XConnection);
  }

  /** Draws one picture. @param more for each following answer: whether another write precedes it */
  draws(...more: number[]): void {
    this.#late.push(...more);
    this.#write();
  }

  #write(): void {
    this.client.emit('event', { type: DAMAGE_EVENT, damage: DAMAGE });
  }
}

async function shows(
  server: Server,
  drawing: XDrawing,
  pictures: number,
  ...more: number[]
): Promise<number> {
  const before = server.answers;
  for (let n = 0; n < pictures; n++) {
    const next = drawing.next();
    server.draws(...more);
    expect(await next).toBe(true);
  }
  return server.answers - before;
}

test('a picture in several writes is reported once, after the last write', async () => {
  const server = new Server();
  const drawing = await server.open();
  expect(await shows(server, drawing, 1, 1, 1, 0)).toBe(3);
});

test('for an app that always sends whole pictures, only one in eight is checked', async () => {
  const server = new Server();
  const drawing = await server.open();
  expect(await shows(server, drawing, 32, 0)).toBe(32);
  expect(await shows(server, drawing, 80)).toBe(10);
});

test('when an app no longer sends whole pictures, each one is checked again', async () => {
  const server = new Server();
  const drawing = await server.open();
  await shows(server, drawing, 39);
  expect(await shows(server, drawing, 1, 1, 0)).toBe(2);
  expect(await shows(server, drawing, 20, 0)).toBe(20);
});
