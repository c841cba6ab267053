import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OWNER } from './page-rights.ts';
import { type DisplayAction, type DueAction, holdMsFor, MAX_WAIT_MS, PressHold } from './press-hold.ts';

const key = (code: number, down: boolean): DisplayAction => ({ do: 'key', code, down });
const button = (down: boolean): DisplayAction => ({ do: 'button', button: 0, down });
const moveTo = (x: number): DisplayAction => ({ do: 'move_to', x, y: 0 });

interface Done {
  atMs: number;
  action: DisplayAction;
}

/** Applies actions that arrive at given times, in simulated time, with a display that processes actions at once. */
function run(arrivals: readonly { atMs: number; action: DisplayAction }[], holdMs: number): Done[] {
  const hold = new PressHold(holdMs);
  const done: Done[] = [];
  const note = (atMs: number, due: DueAction[]) => {
    for (const { action } of due) {
      done.push({ atMs, action });
      hold.taken(action, atMs);
    }
  };
  const until = (limitMs: number) => {
    for (let atMs = hold.nextAtMs; atMs !== null && atMs <= limitMs; atMs = hold.nextAtMs)
      note(atMs, hold.due(atMs));
  };
  for (const { atMs, action } of arrivals) {
    until(atMs);
    note(atMs, hold.add(action, atMs));
  }
  until(Number.POSITIVE_INFINITY);
  return done;
}

/** How often a program sees the key pressed, if it reads the keyboard every periodMs, first at phaseMs. */
function pressesSeen(done: readonly Done[], code: number, periodMs: number, phaseMs: number): number {
  const changes = done.filter(({ action }) => action.do === 'key' && action.code === code);
  const endMs = (done.at(-1)?.atMs ?? 0) + 2 * periodMs;
  let seen = 0;
  let wasDown = false;
  for (let nowMs = phaseMs; nowMs <= endMs; nowMs += periodMs) {
    const last = changes.findLast(({ atMs }) => atMs <= nowMs)?.action;
    const isDown = last?.do === 'key' && last.down;
    if (isDown && !wasDown) seen++;
    wasDown = isDown;
  }
  return seen;
}

test.each([
  [60, 34],
  [30, 67],
  [240, 9],
  [1, 100],
])('at %s frames a second a press lasts %s ms at least', (fps, holdMs) => {
  expect(holdMsFor(fps)).toBe(holdMs);
});

describe('a press that is shorter than the hold', () => {
  test('goes down at once and up after the hold, and later input waits behind it', () => {
    const arrivals = [key(1, true), key(1, false), key(2, true), key(2, false)];
    expect(
      run(
        arrivals.map((action, atMs) => ({ action, atMs })),
        34,
      ),
    ).toEqual([
      { atMs: 0, action: key(1, true) },
      { atMs: 34, action: key(1, false) },
      { atMs: 34, action: key(2, true) },
      { atMs: 68, action: key(2, false) },
    ]);
  });

  test('does not change longer presses', () => {
    const arrivals = [
      { atMs: 0, action: key(1, true) },
      { atMs: 20, action: key(2, true) },
      { atMs: 40, action: key(1, false) },
      { atMs: 60, action: key(2, false) },
    ];
    expect(run(arrivals, 34)).toEqual(arrivals);
  });

  test('is not overtaken by text, but by pointer moves', () => {
    const text: DisplayAction = { do: 'text', text: 'a', typist: OWNER };
    const done = run(
      [key(1, true), key(1, false), text, moveTo(5)].map((action) => ({ atMs: 0, action })),
      34,
    );
    expect(done.map(({ action }) => action.do)).toEqual(['key', 'move_to', 'key', 'text']);
  });

  test('of a button delays moves, which are merged, so that a click is not a drag', () => {
    const arrivals = [moveTo(1), button(true), button(false), moveTo(2), moveTo(3)];
    expect(
      run(
        arrivals.map((action) => ({ atMs: 0, action })),
        34,
      ),
    ).toEqual([
      { atMs: 0, action: moveTo(1) },
      { atMs: 0, action: button(true) },
      { atMs: 34, action: button(false) },
      { atMs: 34, action: moveTo(3) },
    ]);
  });

  test('lasts from the time at which the display processed the press, however late', () => {
    const hold = new PressHold(34);
    const names = (due: DueAction[]) => due.map(({ action }) => action);
    expect(names(hold.add(key(1, true), 0))).toEqual([key(1, true)]);
    expect(hold.add(key(1, false), 1)).toEqual([]);
    expect(hold.due(500)).toEqual([]);
    hold.taken(key(1, true), 500);
    expect(hold.nextAtMs).toBe(534);
    expect(names(hold.due(534))).toEqual([key(1, false)]);
  });

  test('on a display that does not confirm, ends at the longest wait', () => {
    const hold = new PressHold(34);
    hold.add(key(1, true), 0);
    hold.add(key(1, false), 1);
    expect(hold.nextAtMs).toBe(1 + MAX_WAIT_MS);
    expect(hold.due(1 + MAX_WAIT_MS).map(({ action }) => action)).toEqual([key(1, false)]);
  });

  test('of a lock key is known before it is applied', () => {
    const hold = new PressHold(34);
    const CAPS_LOCK = 58;
    for (const action of [key(1, true), key(1, false), key(CAPS_LOCK, true)]) hold.add(action, 0);
    hold.taken(key(1, true), 0);
    expect(hold.waitingLocks).toBe(1);
    hold.due(34);
    expect(hold.waitingLocks).toBe(0);
  });

  test('drops waiting text of one person', () => {
    const hold = new PressHold(34);
    const text: DisplayAction = { do: 'text', text: 'a', typist: OWNER };
    const ofGuest = { do: 'text', text: 'b', typist: { role: 'full', padIndex: null } } as const;
    for (const action of [key(1, true), key(1, false), ofGuest, text]) hold.add(action, 0);
    hold.taken(key(1, true), 0);
    hold.dropText(ofGuest.typist);
    expect(hold.due(34).map(({ action }) => action)).toEqual([key(1, false), text]);
    expect(hold.nextAtMs).toBeNull();
  });
});

const tap = fc.record({ gapMs: fc.nat(80), downMs: fc.nat(80), code: fc.integer({ min: 1, max: 3 }) });

test('a program that reads the keyboard once a frame sees each of a few presses once', () => {
  fc.assert(
    fc.property(
      fc.array(tap, { minLength: 1, maxLength: 8 }),
      fc.constantFrom(30, 60),
      fc.constantFrom(1_000 / 60, 1_000 / 30),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (taps, fps, periodMs, phase) => {
        const arrivals: { atMs: number; action: DisplayAction }[] = [];
        let atMs = 0;
        for (const { gapMs, downMs, code } of taps) {
          atMs += gapMs;
          arrivals.push({ atMs, action: key(code, true) });
          atMs += downMs;
          arrivals.push({ atMs, action: key(code, false) });
        }
        const done = run(arrivals, holdMsFor(fps));
        for (const code of [1, 2, 3]) {
          const made = taps.filter((one) => one.code === code).length;
          expect(pressesSeen(done, code, periodMs, phase * periodMs - periodMs)).toBe(made);
        }
      },
    ),
  );
});

test('for any input nothing is lost or out of order, no key stays down, and nothing waits for long', () => {
  const action = fc.oneof(
    fc.record({ do: fc.constant('key' as const), code: fc.integer({ min: 1, max: 4 }), down: fc.boolean() }),
    fc.record({ do: fc.constant('button' as const), button: fc.nat(2), down: fc.boolean() }),
    fc.record({
      do: fc.constant('text' as const),
      text: fc.constantFrom('a', 'b'),
      typist: fc.constant(OWNER),
    }),
  );
  const arrival = fc.record({ waitMs: fc.nat(10), action });
  fc.assert(
    fc.property(fc.array(arrival, { maxLength: 300 }), fc.nat(100), (steps, holdMs) => {
      let atMs = 0;
      const arrivals = steps.map(({ waitMs, action: one }) => {
        atMs += waitMs;
        return { atMs, action: one };
      });
      const done = run(arrivals, holdMs);
      expect(done.map((one) => one.action)).toEqual(arrivals.map((one) => one.action));
      done.forEach((one, index) => {
        expect(one.atMs - (arrivals[index]?.atMs ?? 0)).toBeLessThanOrEqual(MAX_WAIT_MS);
      });
    }),
  );
});
