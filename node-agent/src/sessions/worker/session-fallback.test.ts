import { EventEmitter } from 'node:events';
import { beforeEach, expect, test } from 'vitest';
import type { WorkerExit } from '../../media/worker/worker-pool.ts';
import { followFallback } from './session-fallback.ts';

let messages: EventEmitter;
let exited: Promise<WorkerExit>;
let exit: (result: WorkerExit) => void;
/** Fragments of the registered connections. */
let registered: Set<string>;
let refuses: boolean;

beforeEach(() => {
  messages = new EventEmitter();
  exited = new Promise((resolve) => {
    exit = resolve;
  });
  registered = new Set();
  refuses = false;
  const worker: Parameters<typeof followFallback>[0] = {
    exited,
    on: (type, listener) => {
      messages.on(type, listener);
      return () => messages.off(type, listener);
    },
  };
  followFallback(worker, {
    register: ({ ufrag }) => {
      if (refuses) return null;
      registered.add(ufrag);
      return () => registered.delete(ufrag);
    },
  });
});

const open = (pc_id: string, ufrag = pc_id) =>
  messages.emit('fallback_open', { type: 'fallback_open', pc_id, ufrag, pwd: 'secret', port: 40_000 });
const close = (pc_id: string) => messages.emit('fallback_close', { type: 'fallback_close', pc_id });

test('a connection is registered until it ends; an end without a start changes nothing', () => {
  open('a');
  open('b');
  close('a');
  close('a');
  close('never');
  expect([...registered]).toEqual(['b']);
});

test('a second registration of the same connection is ignored, and a later one after its end counts', () => {
  open('a', 'first');
  open('a', 'second');
  expect([...registered]).toEqual(['first']);
  close('a');
  open('a', 'second');
  expect([...registered]).toEqual(['second']);
});

test('a worker has at most 64 connections; the end of one makes room, and a refused one takes none', () => {
  refuses = true;
  open('refused');
  refuses = false;
  for (let index = 0; index < 65; index++) open(`pc${index}`);
  expect(registered.size).toBe(64);
  expect(registered).not.toContain('pc64');
  close('pc0');
  open('pc64');
  expect(registered.size).toBe(64);
  expect(registered).toContain('pc64');
});

test("the worker's exit withdraws all its connections", async () => {
  open('a');
  open('b');
  exit({ code: 1, signal: null });
  await exited;
  expect(registered.size).toBe(0);
});
