import type { Finger } from '@footlight/stream-client';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DirectTouch, type Gesture, type Gestures, type Pair, TouchPad } from './gestures.ts';

type Step = [action: Finger['action'] | 'wait', id: number, x: number, y: number, atMs: number];

/** The machine's gestures after some steps; `wait` advances the time to atMs. */
function told(machine: Gestures, steps: readonly Step[]): Gesture[] {
  return steps.flatMap(([action, id, x, y, atMs]) =>
    action === 'wait' ? machine.wait(atMs) : machine.take({ action, id, x, y, atMs, pressure: 128 }),
  );
}
const places = (pair: Pair) => pair.map(({ x, y }) => `${x} ${y}`).join(', ');
const short = (gesture: Gesture) => {
  if (gesture.do === 'move' || gesture.do === 'scroll') return `${gesture.do} ${gesture.dx} ${gesture.dy}`;
  if (gesture.do === 'touch') return `touch ${gesture.action} ${gesture.x} ${gesture.y}`;
  if (gesture.do === 'pinch') return `pinch ${places(gesture.from)} to ${places(gesture.to)}`;
  return `${gesture.do} ${gesture.button}${gesture.at ? ` at ${gesture.at.x} ${gesture.at.y}` : ''}`;
};

describe('the touch pad', () => {
  test.each<[string, Step[], string[]]>([
    [
      'a tap clicks',
      [
        ['down', 1, 10, 10, 0],
        ['up', 1, 12, 9, 90],
      ],
      ['click 0'],
    ],
    [
      'a finger moves the pointer, from where it left its place',
      [
        ['down', 1, 10, 10, 0],
        ['move', 1, 14, 10, 10],
        ['move', 1, 30, 10, 20],
        ['move', 1, 35, 8, 30],
        ['up', 1, 35, 8, 40],
      ],
      ['move 5 -2'],
    ],
    [
      'a long press drags until it lifts',
      [
        ['down', 1, 10, 10, 0],
        ['wait', 0, 0, 0, 400],
        ['move', 1, 13, 10, 500],
        ['up', 1, 13, 10, 600],
      ],
      ['press 0', 'move 3 0', 'release 0'],
    ],
    [
      'a finger that moves never drags',
      [
        ['down', 1, 10, 10, 0],
        ['move', 1, 60, 10, 50],
        ['wait', 0, 0, 0, 900],
        ['up', 1, 60, 10, 950],
      ],
      [],
    ],
    [
      'two fingers that tap are a right click, once',
      [
        ['down', 1, 10, 10, 0],
        ['down', 2, 90, 10, 30],
        ['up', 2, 90, 10, 100],
        ['up', 1, 10, 10, 110],
      ],
      ['click 2'],
    ],
    [
      'two fingers scroll as their middle moves',
      [
        ['down', 1, 10, 10, 0],
        ['down', 2, 90, 10, 30],
        ['move', 1, 10, 30, 50],
        ['move', 2, 90, 30, 51],
        ['move', 1, 10, 34, 60],
        ['up', 1, 10, 34, 900],
        ['up', 2, 90, 30, 900],
      ],
      ['scroll 0 10', 'scroll 0 2'],
    ],
    [
      'a second finger joins a moving one, and both scroll',
      [
        ['down', 1, 10, 10, 0],
        ['move', 1, 40, 10, 20],
        ['down', 2, 90, 10, 300],
        ['move', 2, 90, 20, 320],
        ['up', 2, 90, 20, 330],
        ['move', 1, 90, 90, 340],
        ['up', 1, 90, 90, 350],
      ],
      ['scroll 0 5'],
    ],
    [
      'a third finger ends it all',
      [
        ['down', 1, 10, 10, 0],
        ['down', 2, 90, 10, 30],
        ['down', 3, 50, 50, 40],
        ['up', 3, 50, 50, 60],
        ['up', 2, 90, 10, 70],
        ['up', 1, 10, 10, 80],
      ],
      [],
    ],
    [
      'a drag that is cancelled is released',
      [
        ['down', 1, 10, 10, 0],
        ['wait', 0, 0, 0, 450],
        ['cancel', 1, 10, 10, 500],
      ],
      ['press 0', 'release 0'],
    ],
    [
      'a finger that is cancelled is no tap',
      [
        ['down', 1, 10, 10, 0],
        ['cancel', 1, 10, 10, 50],
      ],
      [],
    ],
  ])('%s', (_what, steps, wanted) => {
    expect(told(new TouchPad(), steps).map(short)).toEqual(wanted);
  });
});

describe('direct touch', () => {
  test.each<[string, Step[], string[]]>([
    [
      'a tap is a touch at its place',
      [
        ['down', 1, 10, 20, 0],
        ['up', 1, 11, 20, 40],
      ],
      ['touch down 10 20', 'touch up 11 20'],
    ],
    [
      'a finger that stays touches after the wait for a second one',
      [
        ['down', 1, 10, 20, 0],
        ['wait', 0, 0, 0, 59],
        ['wait', 0, 0, 0, 60],
        ['move', 1, 12, 20, 70],
        ['up', 1, 12, 20, 90],
      ],
      ['touch down 10 20', 'touch move 12 20', 'touch up 12 20'],
    ],
    [
      'a finger that draws touches at once, from where it began',
      [
        ['down', 1, 10, 20, 0],
        ['move', 1, 30, 20, 16],
        ['up', 1, 30, 20, 40],
      ],
      ['touch down 10 20', 'touch move 30 20', 'touch up 30 20'],
    ],
    [
      'two fingers that tap are a right click at the first, which the app never sees',
      [
        ['down', 1, 10, 20, 0],
        ['down', 2, 90, 20, 40],
        ['up', 1, 10, 20, 100],
        ['up', 2, 90, 20, 120],
      ],
      ['click 2 at 10 20'],
    ],
    [
      'two fingers that move apart enlarge the picture, although only one of them moves',
      [
        ['down', 1, 10, 20, 0],
        ['down', 2, 90, 20, 40],
        ...[100, 110, 120, 130, 140].map((x): Step => ['move', 2, x, 20, x]),
        ['up', 2, 140, 20, 180],
        ['move', 1, 90, 90, 185],
        ['up', 1, 90, 90, 190],
      ],
      ['pinch 10 20, 90 20 to 10 20, 130 20', 'pinch 10 20, 130 20 to 10 20, 140 20'],
    ],
    [
      'two parallel fingers scroll, also if one is above the other and the browser reports them one by one',
      [
        ['down', 1, 10, 20, 0],
        ['down', 2, 10, 90, 40],
        ['move', 1, 10, 50, 50],
        ['move', 2, 10, 120, 50],
        ['move', 1, 10, 60, 60],
        ['move', 2, 10, 130, 60],
        ['move', 1, 10, 70, 70],
        ['move', 2, 10, 140, 70],
        ['up', 1, 10, 70, 80],
        ['up', 2, 10, 140, 80],
      ],
      ['scroll 0 40', 'scroll 0 5', 'scroll 0 5'],
    ],
    [
      'a second finger takes a resting one back from the app',
      [
        ['down', 1, 10, 20, 0],
        ['wait', 0, 0, 0, 80],
        ['down', 2, 90, 20, 200],
        ['up', 2, 90, 20, 700],
        ['up', 1, 10, 20, 700],
      ],
      ['touch down 10 20', 'touch cancel 10 20'],
    ],
    [
      'a drag in the app continues when a second finger comes',
      [
        ['down', 1, 10, 20, 0],
        ['move', 1, 40, 20, 20],
        ['down', 2, 90, 20, 50],
        ['move', 2, 150, 20, 60],
        ['up', 2, 150, 20, 70],
        ['move', 1, 50, 20, 80],
        ['up', 1, 50, 20, 90],
      ],
      ['touch down 10 20', 'touch move 40 20', 'touch move 50 20', 'touch up 50 20'],
    ],
  ])('%s', (_what, steps, wanted) => {
    expect(told(new DirectTouch(), steps).map(short)).toEqual(wanted);
  });
});

describe('any sequence of four fingers', () => {
  const step = fc.record({
    action: fc.constantFrom('down', 'move', 'up', 'cancel', 'wait') as fc.Arbitrary<Step[0]>,
    id: fc.integer({ min: 1, max: 4 }),
    x: fc.integer({ min: 0, max: 60 }),
    y: fc.integer({ min: 0, max: 60 }),
    ms: fc.integer({ min: 0, max: 300 }),
  });
  /** As in a browser: a finger is down before it moves or lifts, and all lift at the end. */
  function possible(
    steps: readonly { action: Step[0]; id: number; x: number; y: number; ms: number }[],
  ): Step[] {
    const down = new Set<number>();
    let atMs = 0;
    const made = steps.flatMap(({ action, id, x, y, ms }): Step[] => {
      atMs += ms;
      if (action !== 'wait' && (action === 'down') === down.has(id)) return [];
      if (action === 'down') down.add(id);
      if (action === 'up' || action === 'cancel') down.delete(id);
      return [[action, id, x, y, atMs]];
    });
    return [...made, ...[...down].map((id): Step => ['up', id, 0, 0, atMs])];
  }
  const all = fc.array(step, { maxLength: 60 }).map(possible);

  test('the touch pad releases what it pressed, and presses nothing twice', () => {
    fc.assert(
      fc.property(all, (steps) => {
        let held = 0;
        for (const gesture of told(new TouchPad(), steps)) {
          if (gesture.do === 'press') held++;
          if (gesture.do === 'release') held--;
          // No click while a button is held.
          if (gesture.do === 'click') expect(held).toBe(0);
          expect(held === 0 || held === 1).toBe(true);
        }
        expect(held).toBe(0);
      }),
    );
  });

  test('direct touch lifts each touch that it started, moves only that one, and ends idle', () => {
    fc.assert(
      fc.property(all, (steps) => {
        const machine = new DirectTouch();
        let down = false;
        for (const gesture of told(machine, steps)) {
          if (gesture.do !== 'touch') {
            expect(down).toBe(false);
            continue;
          }
          expect(down).toBe(gesture.action !== 'down');
          down = gesture.action === 'down' || gesture.action === 'move';
        }
        expect(down).toBe(false);
        expect(machine.dueMs).toBeNull();
        expect(
          told(machine, [
            ['down', 9, 5, 5, 1e6],
            ['up', 9, 5, 5, 1e6 + 10],
          ]).map(short),
        ).toEqual(['touch down 5 5', 'touch up 5 5']);
      }),
    );
  });
});
