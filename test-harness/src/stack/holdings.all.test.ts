import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Counts, holdingsOf, leaks } from './holdings.ts';
import { descendants } from './host-traces.ts';

const CYCLES = 60;
const program = new URL('./leaky-program.mjs', import.meta.url);

/** The planted leak, and the series that must show it. */
const PLANTED: [leak: string, every: number, shown: string[]][] = [
  ['descriptor', 10, ['descriptors']],
  ['socket', 5, ['descriptors', 'sockets']],
  ['buffer', 1, ['memory']],
  ['process', 10, ['processes']],
  ['file', 5, ['files']],
];

describe('a program that works in cycles', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(path.join(os.tmpdir(), 'footlight-leaks-'));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  /** @param every cycles from one leak to the next */
  async function run(leak: string, every: number): Promise<string[]> {
    const child = fork(program, [leak, String(every), directory], { execArgv: ['--expose-gc'] });
    try {
      const counted: Counts[] = [];
      for (let cycle = 0; cycle < CYCLES; cycle += 1) {
        await work(child);
        counted.push(count(child.pid as number));
      }
      return Object.keys(leaks(counted));
    } finally {
      const gone = once(child, 'exit');
      child.send('end');
      await gone;
    }
  }

  function count(pid: number): Counts {
    const { descriptors, sockets, threads, memoryMib } = holdingsOf(pid);
    return {
      descriptors,
      sockets,
      threads,
      memory: memoryMib,
      processes: descendants(pid).length,
      files: readdirSync(directory).length,
    };
  }

  test.each(PLANTED)('that leaks a %s in one of %i cycles is found', async (leak, every, shown) => {
    expect(await run(leak, every)).toEqual(expect.arrayContaining(shown));
  });

  test('that releases everything is not reported', async () => {
    expect(await run('nothing', 1)).toEqual([]);
  });
});

async function work(child: ChildProcess): Promise<void> {
  const done = once(child, 'message');
  child.send('work');
  await done;
}
