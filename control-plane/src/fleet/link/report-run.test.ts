import { describe, expect, test } from 'vitest';
import { lengthOfRun, type OrderedMessage } from './report-run.ts';

type Kind = 'capacity' | 'event' | 'image' | 'running' | 'stopped' | 'failed';

const waiting = (...kinds: Kind[]) =>
  kinds.map((kind) => {
    const type = { capacity: 'capacity', event: 'session_trace_event', image: 'image_state' }[kind as string];
    return { message: { type: type ?? 'session_state', state: kind } as unknown as OrderedMessage };
  });

describe('waiting messages are handled together', () => {
  test.each<[string, Kind[], number]>([
    ['one on its own', ['running'], 1],
    ['reports of all kinds that follow one another', ['running', 'event', 'image', 'running'], 4],
    ['up to a capacity', ['running', 'running', 'capacity', 'running'], 2],
    ['a capacity and what follows it', ['capacity', 'running', 'running'], 3],
    ['not the end of a session with the capacity before it', ['capacity', 'stopped'], 1],
    ['up to the end of a session', ['running', 'event', 'stopped'], 2],
    ['the end of a session alone', ['stopped', 'failed', 'running'], 1],
  ])('%s', (_name, kinds, length) => {
    expect(lengthOfRun(waiting(...kinds))).toBe(length);
  });

  test('64 at most', () => {
    expect(lengthOfRun(waiting(...Array<Kind>(100).fill('running')))).toBe(64);
    expect(lengthOfRun(waiting(...Array<Kind>(64).fill('running')))).toBe(64);
  });
});
