/** The state of one gamepad in messages, and the schedule of these messages. Pure except for its own state. */
import { PAD_IDLE_MS, PAD_REPEAT_MS, PAD_REPEATS } from '@footlight/protocol/input';
import type { PadReading } from '../types.ts';

export interface PadSnapshot {
  left_trigger: number;
  right_trigger: number;
  buttons: number;
  axes: [number, number, number, number];
}

const LEFT_TRIGGER = 6;
const RIGHT_TRIGGER = 7;

/** Snapshot of a pad with the standard mapping. */
export function readPad(pad: PadReading): PadSnapshot {
  let buttons = 0;
  for (const [index, button] of pad.buttons.entries())
    if (button.pressed && index < 32) buttons |= 1 << index;
  const axis = (index: number) => Math.round(Math.max(-1, Math.min(1, pad.axes[index] ?? 0)) * 32_767);
  const trigger = (index: number) =>
    Math.round(Math.max(0, Math.min(1, pad.buttons[index]?.value ?? 0)) * 255);
  return {
    left_trigger: trigger(LEFT_TRIGGER),
    right_trigger: trigger(RIGHT_TRIGGER),
    buttons: buttons >>> 0,
    axes: [axis(0), axis(1), axis(2), axis(3)],
  };
}

/** Sends each change at once, then a few repeats because the channel is lossy, then a slow refresh. */
export class PadSchedule {
  #last: PadSnapshot | null = null;
  #sentAtMs = 0;
  #repeats = 0;

  isDue(snapshot: PadSnapshot, nowMs: number): boolean {
    if (this.#last === null || !same(this.#last, snapshot)) {
      this.#last = snapshot;
      this.#repeats = PAD_REPEATS;
    } else if (this.#repeats > 0) {
      if (nowMs - this.#sentAtMs < PAD_REPEAT_MS) return false;
      this.#repeats -= 1;
    } else if (nowMs - this.#sentAtMs < PAD_IDLE_MS) {
      return false;
    }
    this.#sentAtMs = nowMs;
    return true;
  }
}

function same(a: PadSnapshot, b: PadSnapshot): boolean {
  return (
    a.buttons === b.buttons &&
    a.left_trigger === b.left_trigger &&
    a.right_trigger === b.right_trigger &&
    a.axes.every((axis, index) => axis === b.axes[index])
  );
}
