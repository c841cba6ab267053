import { expect, test } from 'vitest';
import { createKeyedQueue } from './keyed-queue.ts';

/** Work that ends when the test ends it. */
function work(log: string[], name: string) {
  let end = (_failed: boolean): void => undefined;
  const ended = new Promise<string>((resolve, reject) => {
    end = (failed) => (failed ? reject(new Error(name)) : resolve(name));
  });
  const run = (): Promise<string> => {
    log.push(name);
    return ended;
  };
  return { run, end: (failed = false) => end(failed) };
}

const turnOfTheLoop = () => new Promise<void>((resolve) => setImmediate(resolve));

test('work of one key runs one after the other, also after a failure; other keys do not wait', async () => {
  const turns = createKeyedQueue();
  const log: string[] = [];
  const [first, second, third, other] = ['first', 'second', 'third', 'other'].map((name) =>
    work(log, name),
  ) as [ReturnType<typeof work>, ReturnType<typeof work>, ReturnType<typeof work>, ReturnType<typeof work>];
  const failed = expect(turns('alice', first.run)).rejects.toThrow('first');
  const later = [turns('alice', second.run), turns('alice', third.run)];
  void turns('bob', other.run);
  expect(log).toEqual(['first', 'other']);
  first.end(true);
  await failed;
  await turnOfTheLoop();
  await turnOfTheLoop();
  expect(log).toEqual(['first', 'other', 'second']);
  second.end();
  third.end();
  expect(await Promise.all(later)).toEqual(['second', 'third']);
  expect(log).toEqual(['first', 'other', 'second', 'third']);
});

test('others come between two long reads of one account', async () => {
  const turns = createKeyedQueue();
  const log: string[] = [];
  const reads = ['first', 'second', 'third'].map((name) =>
    turns('alice', async () => {
      log.push(name);
      setImmediate(() => log.push(`others after ${name}`));
    }),
  );
  await Promise.all(reads);
  await turnOfTheLoop();
  expect(log).toEqual([
    'first',
    'others after first',
    'second',
    'others after second',
    'third',
    'others after third',
  ]);
});
