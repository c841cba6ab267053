import type { XInput } from '../display/x-input.ts';
import type { InputAction } from './input-state.ts';

/** Where the input of a session's viewers ends: its display, once that is open. */
export class SessionInput {
  readonly size: { width: number; height: number };
  /** Where a point of the picture, in pixels of the launch size, lies on the display. */
  toDisplay: (x: number, y: number) => { x: number; y: number } = (x, y) => ({ x, y });
  #device: XInput | null = null;

  constructor(size: { width: number; height: number }) {
    this.size = size;
  }

  connect(device: XInput): void {
    this.#device = device;
  }

  /** Lock bits of the display: 1 caps, 2 num, 4 scroll. */
  get locks(): number {
    return this.#device?.locks ?? 0;
  }

  perform(actions: readonly InputAction[]): void {
    const device = this.#device;
    if (!device) return;
    for (const action of actions) {
      switch (action.do) {
        case 'key':
          device.key(action.code, action.down);
          break;
        case 'button':
          device.button(action.button, action.down);
          break;
        case 'move_to': {
          const { x, y } = this.toDisplay(action.x, action.y);
          device.moveTo(x, y);
          break;
        }
        case 'move_by':
          device.moveBy(action.dx, action.dy);
          break;
        case 'wheel':
          device.wheel(action.clicksX, action.clicksY);
          break;
        case 'text':
          device.text(action.text);
          break;
      }
    }
  }
}
