import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readOptions } from './options.mjs';
import { duration, nextCell, passes, remainingMs, type SweepCell, slowest } from './sweep.mjs';
import { slotsAdvice, verdictTable } from './table.mjs';

const VERDICTS = ['ok', 'capped', 'unsafe'] as const;
const cells = (rungs: readonly string[], bitrates: readonly number[]): SweepCell[] =>
  rungs.flatMap((stream_profile_id) =>
    bitrates.map((bitrate_kbps) => ({
      profile_id: 'p',
      stream_profile_id,
      codec: 'h264',
      bitrate_kbps,
      outcome: null,
    })),
  );

describe('the order of a sweep', () => {
  test('after unsafe only the higher bitrates of that rung are skipped', () => {
    const planned = cells(['a', 'b'], [4, 6, 8]);
    const measured: [string, number][] = [];
    for (let cell = nextCell(planned); cell !== null; cell = nextCell(planned)) {
      measured.push([cell.stream_profile_id, cell.bitrate_kbps]);
      const verdict = cell.stream_profile_id === 'a' && cell.bitrate_kbps === 6 ? 'unsafe' : 'ok';
      cell.outcome = { kind: 'verdict', verdict };
    }
    expect(measured).toEqual([
      ['a', 4],
      ['a', 6],
      ['b', 4],
      ['b', 6],
      ['b', 8],
    ]);
    expect(planned[2]?.outcome).toEqual({ kind: 'skipped', why: 'unsafe at 6 kbit/s' });
  });

  test('each cell gets one outcome, whatever the verdicts and wherever it is interrupted', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...VERDICTS), { minLength: 12, maxLength: 12 }),
        fc.nat(12),
        (verdicts, interruptedAt) => {
          let planned = cells(['a', 'b', 'c'], [1, 2, 3, 4]);
          const seen = new Set<string>();
          let n = 0;
          for (let cell = nextCell(planned); cell !== null; cell = nextCell(planned)) {
            const key = `${cell.stream_profile_id} ${cell.bitrate_kbps}`;
            expect(seen.has(key)).toBe(false);
            seen.add(key);
            cell.outcome = { kind: 'verdict', verdict: verdicts[n] };
            n += 1;
            // Serialized and parsed again, like the cells in a stored record.
            if (n === interruptedAt) planned = JSON.parse(JSON.stringify(planned)) as SweepCell[];
          }
          expect(planned.every(({ outcome }) => outcome !== null)).toBe(true);
          expect(remainingMs(planned, 25_000, [])).toBe(0);
        },
      ),
    );
  });

  test('the remaining time is estimated from the measured cells', () => {
    const planned = cells(['a'], [1, 2, 3]);
    expect(remainingMs(planned, 25_000, [])).toBe(84_000);
    expect(remainingMs(planned, 25_000, [30_000, 40_000])).toBe(105_000);
    expect([duration(28_400), duration(105_000), duration(2 * 3_600_000)]).toEqual([
      '28 s',
      '2 min',
      '2 h 0 min',
    ]);
  });
});

describe('sessions at once', () => {
  const one = { encode_ms_p95: 16, output_fps: 60, drop_rate: 0 };
  test('the slowest decides', () => {
    expect(slowest([one, { ...one, encode_ms_p95: 17, output_fps: 50 }])).toEqual({
      n: 2,
      encode_ms_p95: 17,
      output_fps: 50,
    });
    expect(passes([one, one], 60)).toBe(true);
    expect(passes([one, { ...one, encode_ms_p95: 16.7 }], 60)).toBe(false);
    expect(passes([{ ...one, drop_rate: 0.06 }], 60)).toBe(false);
  });

  test.each([
    [0, 0, 'Not even one'],
    [3, 0, 'SERVICE_ENCODE_SLOTS=3 '],
    [3, 1, 'number 2 in the list of SERVICE_ENCODE_SLOTS'],
  ])('%i on GPU %i', (sessions, gpu, words) => {
    expect(slotsAdvice(sessions, gpu, true)).toContain(words);
  });

  test('is not printed if the host’s slots limited the curve', () => {
    expect(slotsAdvice(3, 0, false)).toContain('set SERVICE_ENCODE_SLOTS higher');
    expect(slotsAdvice(3, 0, false)).not.toContain('=3');
  });
});

describe('the command line', () => {
  const NAMED = ['--host', 'h', '--email', 'ada@example.org'];
  test('has the defaults of the contract', () => {
    expect(readOptions(NAMED)).toMatchObject({
      profiles: ['1080p60', '720p60', '720p30'],
      bitrates: [4000, 6000, 8000, 12_000],
      gpu: 0,
      encoder: null,
      dwellMs: 25_000,
    });
  });

  test.each([
    [['--email', 'a'], '--host'],
    [['--host', 'h'], '--email'],
    [[...NAMED, '--encoder', 'x264'], 'x264'],
    [[...NAMED, '--bitrates', '4000,fast'], 'fast'],
    [[...NAMED, '--dwell', '2'], '--dwell'],
    [[...NAMED, '--profiles', ','], '--profiles'],
    [[...NAMED, '--password', 'x'], '--password'],
  ])('%j is refused with its reason', (words, reason) => {
    expect(() => readOptions(words)).toThrow(reason);
  });
});

test('the table has a line for each cell, with its measurement or why it was skipped', () => {
  const [measured, skipped] = cells(['720p60-h264'], [4000, 6000]) as [SweepCell, SweepCell];
  measured.outcome = {
    kind: 'verdict',
    verdict: 'capped',
    encode_ms_p50: 5.123,
    encode_ms_p95: 12.3,
    output_fps: 59.94,
    drop_rate: 0,
    live_write_stable: true,
    sample_count: 19,
  };
  skipped.outcome = { kind: 'skipped', why: 'unsafe at 4000 kbit/s' };
  expect(verdictTable([measured, skipped]).split('\n')).toEqual([
    'Rung         kbit/s  Verdict  p50 ms  p95 ms   fps  Drops  Rate changes  Samples',
    '-----------  ------  -------  ------  ------  ----  -----  ------------  -------  ---------------------',
    '720p60-h264    4000  capped      5.1    12.3  59.9   0.00  stable             19',
    '720p60-h264    6000  skipped                                                      unsafe at 4000 kbit/s',
  ]);
});
