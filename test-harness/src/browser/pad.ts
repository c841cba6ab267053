import type { Page } from 'playwright-core';

const DUALSENSE = 'Wireless Controller (STANDARD GAMEPAD Vendor: 054c Product: 0ce6)';

/** Buttons of the standard layout: https://w3c.github.io/gamepad/#remapping */
export const PAD = {
  cross: 0,
  circle: 1,
  square: 2,
  triangle: 3,
  create: 8,
  options: 9,
  up: 12,
  down: 13,
  left: 14,
  right: 15,
  guide: 16,
} as const;

/** Gives a page a simulated gamepad from its next document on; `pressPad` presses its buttons. */
export async function plugIn(page: Page): Promise<void> {
  await page.addInitScript((id) => {
    const buttons = Array.from({ length: 17 }, () => ({ pressed: false, touched: false, value: 0 }));
    const pad = { id, index: 0, connected: true, mapping: 'standard', axes: [0, 0, 0, 0], buttons };
    Object.assign(window, { pad });
    Object.assign(navigator, { getGamepads: () => [pad] });
  }, DUALSENSE);
}

/** Presses or releases a button until the next call. */
export async function holdPad(page: Page, button: number, pressed: boolean): Promise<void> {
  await page.evaluate(
    ([index, isPressed]) => {
      const { pad } = window as unknown as { pad: { buttons: { pressed: boolean }[] } };
      pad.buttons[index]!.pressed = isPressed;
    },
    [button, pressed] as const,
  );
}

/** Presses a button for two frames, as a thumb would. */
export async function pressPad(page: Page, button: number): Promise<void> {
  const from = page.url();
  try {
    await page.evaluate(async (index) => {
      const { pad } = window as unknown as { pad: { buttons: { pressed: boolean }[] } };
      const frame = () => new Promise(requestAnimationFrame);
      for (const pressed of [true, false]) {
        pad.buttons[index]!.pressed = pressed;
        for (let n = 0; n < 2; n++) await frame();
      }
    }, button);
  } catch (error) {
    // The button opened another document, in which no button is pressed.
    if (page.url() === from && !String(error).includes('navigation')) throw error;
  }
}
