import { expect, test } from 'vitest';
import { curveLines } from './curve-lines.ts';

test('the numbers of sessions that the host does not sustain have dots of their own', () => {
  const curve = [
    { n: 1, encode_ms_p95: 5 },
    { n: 2, encode_ms_p95: 10 },
    { n: 3, encode_ms_p95: 20 },
  ];
  const [all, passed, failed] = curveLines({ curve, sessions: 2 }).map(({ points }) =>
    points.map(({ x }) => x),
  );
  expect([all, passed, failed]).toEqual([[1, 2, 3], [1, 2], [3]]);
});
