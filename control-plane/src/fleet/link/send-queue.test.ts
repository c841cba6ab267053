import { describe, expect, test } from 'vitest';
import { type QueueSocket, SendQueue } from './send-queue.ts';

/** A socket whose peer reads only when the test requests it. */
class SlowSocket implements QueueSocket {
  readonly frames: Buffer[] = [];
  #sent: (() => void)[] = [];

  send(frame: Buffer, _options: object, sent: () => void): void {
    this.frames.push(frame);
    this.#sent.push(sent);
  }

  read(count = this.#sent.length): void {
    for (const sent of this.#sent.splice(0, count)) sent();
  }
}

describe('the send queue of a link', () => {
  const fill = (queue: SendQueue, count: number) =>
    Array.from({ length: count }, (_, n) => queue.send(`${n}`)).filter(Boolean).length;

  test('takes 512 messages, refuses the next, and says once that it is full', () => {
    let full = 0;
    const socket = new SlowSocket();
    const queue = new SendQueue(socket, {
      queueFull() {
        full += 1;
      },
    });
    expect(fill(queue, 600)).toBe(512);
    expect(socket.frames).toHaveLength(512);
    expect([queue.full, full]).toEqual([true, 1]);
  });

  test('has room again when the far end reads', () => {
    let full = 0;
    const socket = new SlowSocket();
    const queue = new SendQueue(socket, {
      queueFull() {
        full += 1;
      },
    });
    fill(queue, 513);
    socket.read(1);
    expect(queue.full).toBe(false);
    expect(fill(queue, 2)).toBe(1);
    expect(full).toBe(2);
    socket.read();
    expect(fill(queue, 512)).toBe(512);
  });

  test('sends mustSend messages even when it is full, and counts it', () => {
    const socket = new SlowSocket();
    const queue = new SendQueue(socket, { queueFull() {} });
    fill(queue, 513);
    expect([queue.send('an answer'), queue.send('a goodbye', true)]).toEqual([false, true]);
    expect(socket.frames.at(-1)?.toString()).toBe('a goodbye');
    expect(queue.full).toBe(true);
    socket.read(1);
    expect(queue.send('an answer')).toBe(false);
  });

  test('takes 4 MiB', () => {
    const queue = new SendQueue(new SlowSocket(), { queueFull() {} });
    const message = 'é'.repeat(512 * 1024 - 20);
    const sent = Array.from({ length: 6 }, () => queue.send(message));
    expect(sent).toEqual([true, true, true, true, false, false]);
  });
});
