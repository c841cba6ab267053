import { createHash, randomBytes } from 'node:crypto';
import { HOUR_MS } from '@footlight/platform';
import { TEST_EPOCH_MS } from '@footlight/platform/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ChainCheck, type Entry, type Head, type ReadEntry, sealAll, type Verdict } from './chain.ts';
import { reportOf } from './verdict.ts';

const KEY = { version: 1, key: Buffer.alloc(32, 1) };
const KEYS = new Map([[KEY.version, KEY.key]]);

const entryOf = (id: number): Entry => ({
  id,
  actor_user_id: id % 2 === 0 ? 'ada' : null,
  action: 'host.drain',
  target_type: 'host',
  target_id: `host-${id}`,
  details: `{"n":${id}}`,
  created_at: TEST_EPOCH_MS + id,
});

/** A sealed log; ids have gaps, like those of Postgres. */
function sealedLog(count = 6): ReadEntry[] {
  const entries = Array.from({ length: count }, (_, n) => entryOf(2 * n + 1));
  const seals = sealAll(KEY, null, entries, TEST_EPOCH_MS + 1_000);
  return entries.map((entry, n) => ({ ...entry, seal: seals[n] ?? null }));
}

const headOf = (log: readonly ReadEntry[]): Head | null =>
  log.findLast(({ seal }) => seal !== null)?.seal ?? null;

function check(
  log: readonly ReadEntry[],
  { head = headOf(log), remembered = null as string | null, keys = KEYS } = {},
): Verdict {
  const chain = new ChainCheck(keys, remembered);
  for (const entry of log) {
    const verdict = chain.see(entry);
    if (verdict !== null) return verdict;
  }
  return chain.end(head);
}

const at = (log: readonly ReadEntry[], n: number) => log[n] as ReadEntry;

test('a log that nobody changed is intact, also with entries that are not sealed yet', () => {
  const log = sealedLog();
  expect(check(log)).toEqual({ kind: 'intact' });
  expect(check([...log, { ...entryOf(99), seal: null }], { head: headOf(log) })).toEqual({ kind: 'intact' });
  expect(check([])).toEqual({ kind: 'intact' });
});

test('a chain continues where another process stopped', () => {
  const log = sealedLog(3);
  const more = [entryOf(20), entryOf(21)];
  const seals = sealAll(KEY, headOf(log), more, TEST_EPOCH_MS);
  expect(check([...log, ...more.map((entry, n) => ({ ...entry, seal: seals[n] ?? null }))])).toEqual({
    kind: 'intact',
  });
});

describe('a change by a person who can write the database shows', () => {
  const CHANGES: Partial<Entry>[] = [
    { id: 6 },
    { actor_user_id: 'ada' },
    { action: 'host.uncordon' },
    { target_type: 'app' },
    { target_id: null },
    { details: '{"n": 5}' },
    { created_at: TEST_EPOCH_MS },
  ];
  test.each(CHANGES)('an entry with %o', (change) => {
    const log = sealedLog();
    log[2] = { ...at(log, 2), ...change };
    expect(check(log)).toMatchObject({ kind: 'tampered', misfit: { kind: 'changed', entry: log[2] } });
  });

  test.each(['sealed_at', 'hash'] as const)('a seal with another %s', (field) => {
    const log = sealedLog();
    const seal = { ...at(log, 2).seal, [field]: field === 'hash' ? 'ab'.repeat(32) : 5 } as ReadEntry['seal'];
    log[2] = { ...at(log, 2), seal };
    expect(check(log)).toMatchObject({ kind: 'tampered', misfit: { kind: 'changed' } });
  });

  test('a removed entry, at the start and in the middle', () => {
    for (const n of [0, 3]) {
      const log = sealedLog();
      log.splice(n, 1);
      expect(check(log)).toMatchObject({
        kind: 'tampered',
        misfit: { kind: 'missing', count: 1, entry: { id: at(log, n).id } },
      });
    }
  });

  test('a removed entry whose later seals were numbered again', () => {
    const log = sealedLog();
    log.splice(2, 1);
    const numbered = log.map((entry, n) => ({
      ...entry,
      seal: entry.seal && { ...entry.seal, number: n + 1 },
    }));
    expect(check(numbered)).toMatchObject({ kind: 'tampered', misfit: { kind: 'changed' } });
  });

  test('two entries that were exchanged, without and with their seals', () => {
    const contents = sealedLog();
    const [a, b] = [at(contents, 1), at(contents, 4)];
    contents[1] = { ...b, id: a.id, seal: a.seal };
    contents[4] = { ...a, id: b.id, seal: b.seal };
    expect(check(contents)).toMatchObject({ kind: 'tampered', misfit: { kind: 'changed' } });
    const whole = sealedLog();
    whole[1] = { ...b, id: a.id };
    whole[4] = { ...a, id: b.id };
    expect(check(whole)).toMatchObject({ kind: 'tampered', misfit: { kind: 'missing' } });
    // A copy of an earlier seal.
    const copied = sealedLog();
    copied[4] = { ...at(copied, 4), seal: at(copied, 1).seal };
    expect(check(copied)).toMatchObject({ kind: 'tampered', misfit: { kind: 'moved' } });
  });

  test('an inserted entry without a seal', () => {
    const log = sealedLog();
    log.splice(3, 0, { ...entryOf(6), seal: null });
    expect(check(log)).toMatchObject({ kind: 'tampered', misfit: { kind: 'inserted', entry: { id: 6 } } });
  });

  test('a cut end whose seals stayed', () => {
    const log = sealedLog();
    expect(check(log.slice(0, 4), { head: headOf(log) })).toEqual({
      kind: 'tampered',
      misfit: { kind: 'ended', count: 2 },
    });
  });

  test('a cut end without seals, but only to a person who remembers a head', () => {
    const log = sealedLog();
    const remembered = at(log, 5).seal?.hash ?? '';
    expect(check(log, { remembered })).toEqual({ kind: 'intact' });
    expect(check(log.slice(0, 4))).toEqual({ kind: 'intact' });
    expect(check(log.slice(0, 4), { remembered })).toEqual({
      kind: 'tampered',
      misfit: { kind: 'headless' },
    });
  });

  test('a chain that was computed again without the key', () => {
    const log = sealedLog().map(({ seal, ...entry }, n) => ({
      ...entry,
      ...(n === 2 && { action: 'host.uncordon' }),
      seal: seal && { ...seal, hash: createHash('sha256').update(JSON.stringify(entry)).digest('hex') },
    }));
    expect(check(log)).toMatchObject({ kind: 'tampered', misfit: { kind: 'changed', entry: { id: 1 } } });
    const guessed = sealAll({ version: 1, key: Buffer.alloc(32) }, null, log, TEST_EPOCH_MS);
    expect(check(log.map((entry, n) => ({ ...entry, seal: guessed[n] ?? null })))).toMatchObject({
      kind: 'tampered',
    });
  });

  test('any change of any field of any entry', () => {
    const log = sealedLog();
    fc.assert(
      fc.property(
        fc.nat(log.length - 1),
        fc.string(),
        fc.constantFrom('action', 'details', 'target_id'),
        (n, text, field) => {
          fc.pre(at(log, n)[field as 'action'] !== text);
          const changed = log.with(n, { ...at(log, n), [field]: text });
          expect(check(changed)).toMatchObject({ kind: 'tampered', misfit: { kind: 'changed' } });
        },
      ),
    );
  });
});

test('texts that run into each other have different seals', () => {
  const hash = (action: string, target_type: string) =>
    sealAll(KEY, null, [{ ...entryOf(1), action, target_type }], 0)[0]?.hash;
  expect(hash('host', 'drain')).not.toBe(hash('hostd', 'rain'));
  expect(hash('host","', 'drain')).not.toBe(hash('host', '","drain'));
});

test('after a change of the master key both parts of the chain are checked, each with its own key', () => {
  const log = sealedLog(2);
  const next = { version: 2, key: randomBytes(32) };
  const [seal = null] = sealAll(next, headOf(log), [entryOf(9)], TEST_EPOCH_MS);
  const all = [...log, { ...entryOf(9), seal }];
  expect(check(all, { keys: new Map([...KEYS, [2, next.key]]) })).toEqual({ kind: 'intact' });
  expect(check(all)).toMatchObject({ kind: 'no_key', version: 2, entry: { id: 9 } });
});

describe('the report', () => {
  const report = (log: readonly ReadEntry[], remembered: string | null = null) => {
    const chain = new ChainCheck(KEYS, remembered);
    for (const entry of log) {
      const verdict = chain.see(entry);
      if (verdict !== null) return reportOf(verdict, chain.counts);
    }
    return reportOf(chain.end(headOf(log)), chain.counts);
  };

  test('of an intact log has its extent and its head', () => {
    const log = sealedLog();
    const { code, lines } = report([...log, { ...entryOf(50), seal: null }]);
    expect(code).toBe(0);
    expect(lines).toEqual([
      expect.stringMatching(/^Checked 6 sealed entries, from entry 1 .* to entry 11 /),
      expect.stringMatching(/^Not sealed yet: 1, from entry 50 /),
      'intact',
      `Head: ${headOf(log)?.hash}`,
    ]);
  });

  test('names the first entry that does not fit, even if its time is no time', () => {
    const log = sealedLog();
    log[2] = { ...at(log, 2), created_at: 1e18 };
    const { code, lines } = report(log);
    expect(code).toBe(1);
    expect(lines.at(-1)).toMatch(
      /^tampered: entry 5 \(host\.drain, time 1000000000000000000\) does not match/,
    );
  });

  test('says that entries were sealed long after they were written', () => {
    const [entry] = [entryOf(1)];
    const [seal = null] = sealAll(KEY, null, [entry], entry.created_at + HOUR_MS + 1);
    const { code, lines } = report([{ ...entry, seal }]);
    expect(code).toBe(0);
    expect(lines[1]).toMatch(/^Sealed more than 1 h after they were written: 1, /);
  });

  test('of a log without seals is no success', () => {
    expect(report([{ ...entryOf(1), seal: null }]).code).toBe(2);
    expect(report([]).code).toBe(2);
  });
});
