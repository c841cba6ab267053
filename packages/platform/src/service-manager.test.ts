import { expect, test } from 'vitest';
import { ServicePulse } from './service-manager.ts';
import { ManualClock } from './testing/index.ts';

function pulse(watchdogMs: number | null) {
  const clock = new ManualClock();
  const sent: string[][] = [];
  let turn: (() => void) | null = null;
  const service = new ServicePulse({
    notify: (...lines) => sent.push(lines),
    clock,
    watchdogMs,
    status: () => 'busy',
    afterPoll: (work) => {
      turn = work;
    },
  });
  const finishTurn = () => {
    const work = turn;
    turn = null;
    work?.();
  };
  return { clock, sent, service, finishTurn };
}

test('the interval of two beats is a third of the watchdog’s time', async () => {
  const { clock, sent, finishTurn } = pulse(9_000);
  await clock.advance(2_999);
  finishTurn();
  expect(sent).toEqual([]);
  await clock.advance(1);
  finishTurn();
  expect(sent).toEqual([['WATCHDOG=1', 'STATUS=busy']]);
});

test('timers of a loop that does not finish its turn do not feed the watchdog', async () => {
  const { clock, sent, finishTurn } = pulse(9_000);
  await clock.advance(60_000);
  expect(sent).toEqual([]);
  finishTurn();
  expect(sent).toHaveLength(1);
});

test('without a watchdog only the status is sent', async () => {
  const { clock, sent, finishTurn } = pulse(null);
  await clock.advance(10_000);
  finishTurn();
  expect(sent).toEqual([['STATUS=busy']]);
});

test('after its end nothing is sent, not even for a running turn', async () => {
  const { clock, sent, service, finishTurn } = pulse(3_000);
  await clock.advance(1_000);
  service.close();
  finishTurn();
  await clock.advance(60_000);
  finishTurn();
  expect(sent).toEqual([]);
});
