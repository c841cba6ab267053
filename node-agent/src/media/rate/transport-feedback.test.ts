import { expect, test } from 'vitest';
import { TransportFeedback } from './transport-feedback.ts';

function sent(count: number): TransportFeedback {
  const feedback = new TransportFeedback();
  for (let i = 0; i < count; i++) feedback.sent((65_530 + i) & 0xffff, i * 10, 1000);
  return feedback;
}

test('joins sent packets with arrivals, over the wrap of the numbers', () => {
  const { flights, lost } = sent(10).received([
    { sequence: 65_535, receivedAtMs: 500 },
    { sequence: 0, receivedAtMs: null },
    { sequence: 1, receivedAtMs: 520 },
  ]);
  expect(flights).toEqual([
    { sequence: 65_535, sentAtMs: 50, bytes: 1000, receivedAtMs: 500 },
    { sequence: 1, sentAtMs: 70, bytes: 1000, receivedAtMs: 520 },
  ]);
  expect(lost).toEqual([{ sequence: 0, sentAtMs: 60, bytes: 1000 }]);
});

test('a packet arrives once, however often it is reported, and a packet that was never sent does not arrive', () => {
  const feedback = sent(2);
  const arrivals = [
    { sequence: 65_530, receivedAtMs: 1 },
    { sequence: 65_530, receivedAtMs: 2 },
    { sequence: 77, receivedAtMs: 3 },
  ];
  expect(feedback.received(arrivals).flights).toHaveLength(1);
  expect(feedback.received(arrivals).flights).toEqual([]);
});

test('the backlog is the bytes sent after the newest reported packet', () => {
  const feedback = sent(10);
  expect(feedback.backlogBytes).toBe(10_000);
  feedback.received([{ sequence: 65_533, receivedAtMs: 1 }]);
  expect(feedback.backlogBytes).toBe(6_000);
  feedback.received([{ sequence: 65_531, receivedAtMs: 2 }]);
  expect(feedback.backlogBytes).toBe(6_000);
});
