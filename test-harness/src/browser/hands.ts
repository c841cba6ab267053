import type { Locator, Page } from 'playwright-core';
import { PAD, pressPad } from './pad.ts';

/** Maximum number of steps to a control. All controls of the pages need fewer steps. */
const MAX_STEPS = 120;
const WAYS = ['up', 'left', 'right', 'down'] as const;
type Way = (typeof WAYS)[number];
const ARROWS: Readonly<Record<Way, string>> = {
  up: 'ArrowUp',
  down: 'ArrowDown',
  left: 'ArrowLeft',
  right: 'ArrowRight',
};

/** A person with one kind of input, and without a pointer. */
export interface Hands {
  /** Moves the focus to a control. */
  reach(control: Locator): Promise<void>;
  /** Presses the focused control. */
  press(): Promise<void>;
  /** Types into the focused field, replacing its text. */
  write(text: string): Promise<void>;
  /** Moves to an option of an exclusive choice, and selects it. */
  pick(radio: Locator): Promise<void>;
  /** Sets the focused select to the next option, or to the first. */
  nextOption(): Promise<void>;
  /** Marks the focused app. */
  mark(): Promise<void>;
  /** Opens the choice of quality for the focused app. */
  askQuality(): Promise<void>;
  openMenu(): Promise<void>;
  /** Opens the bar of a session, with the focus in it. */
  openBar(): Promise<void>;
  back(): Promise<void>;
}

const isFocused = (control: Locator) => control.evaluate((element) => element === document.activeElement);

/** Tab and arrow keys, Enter, and the keys that the pages name. */
export function keyboardOf(page: Page): Hands {
  const key = (name: string) => page.keyboard.press(name);
  const hands: Hands = {
    async reach(control) {
      await control.waitFor();
      for (let step = 0; step < MAX_STEPS; step++) {
        if (await isFocused(control)) return;
        // All tiles of a section share one tab stop; the arrow keys move between the tiles.
        const isInSection = await control.evaluate((element) => {
          const sectionOf = (one: Element | null) =>
            one instanceof HTMLElement ? one.dataset.section : undefined;
          return sectionOf(element) !== undefined && sectionOf(element) === sectionOf(document.activeElement);
        });
        await key(isInSection ? ARROWS[await wayTo(control)] : 'Tab');
      }
      throw new Error(`The keyboard does not reach ${control}`);
    },
    press: () => key('Enter'),
    async write(text) {
      await key('Control+a');
      if (text === '') await key('Delete');
      await page.keyboard.type(text);
    },
    async pick(radio) {
      // Only the selected option of a group can be reached with Tab.
      await hands.reach(radio.locator('xpath=ancestor::*[@role="radiogroup"]').locator(':checked'));
      for (let step = 0; step < MAX_STEPS && !(await radio.isChecked()); step++) await key('ArrowDown');
      await radio.and(page.locator(':checked')).waitFor();
    },
    async nextOption() {
      const isLast = await page.evaluate(() => {
        const list = document.activeElement as HTMLSelectElement;
        return list.selectedIndex === list.length - 1;
      });
      await key(isLast ? 'Home' : 'ArrowDown');
    },
    mark: () => key('f'),
    askQuality: () => key('q'),
    async openMenu() {
      await hands.reach(page.locator('[data-person-menu]'));
      await hands.press();
    },
    openBar: () => key('Control+Alt+Shift+KeyZ'),
    back: () => key('Escape'),
  };
  return hands;
}

/** The buttons of a gamepad, and the on-screen keyboard. */
export function gamepadOf(page: Page): Hands {
  const button = (name: keyof typeof PAD) => pressPad(page, PAD[name]);
  const hands: Hands = {
    async reach(control) {
      await control.waitFor();
      const tried = new Set<string>();
      for (let step = 0; step < MAX_STEPS; step++) {
        if (await isFocused(control)) return;
        const wanted = await wayTo(control);
        const at = await page.evaluate(() => {
          const focused = document.activeElement ?? document.body;
          const words = focused.ariaLabel ?? focused.textContent?.slice(0, 20);
          return `${focused.tagName} ${[...document.querySelectorAll('*')].indexOf(focused)} ${words}`;
        });
        // If the direct way was already tried from here, tries another direction.
        const way = [wanted, ...WAYS].find((one) => !tried.has(`${at} ${one}`));
        if (way === undefined) break;
        tried.add(`${at} ${way}`);
        await button(way);
      }
      throw new Error(`The gamepad does not reach ${control}, and went ${[...tried].join(', ')}`);
    },
    press: () => button('cross'),
    async write(text) {
      await hands.press();
      const keys = page.getByRole('dialog', { name: 'Keyboard' });
      const key = (name: string) => keys.getByRole('button', { name, exact: true });
      const had = await keys.locator('output').textContent();
      if (had !== '') {
        await hands.reach(key('Delete'));
        for (const _sign of had ?? '') await hands.press();
      }
      for (const sign of text) {
        const one = key(sign === ' ' ? 'Space' : sign);
        if ((await one.count()) === 0) {
          await hands.reach(key(/[A-Z]/.test(sign) ? 'Capital letters' : 'Signs'));
          await hands.press();
        }
        await hands.reach(one);
        await hands.press();
      }
      await hands.reach(key('Done'));
      await hands.press();
      await keys.waitFor({ state: 'detached' });
    },
    async pick(radio) {
      await hands.reach(radio);
      await hands.press();
      await radio.and(page.locator(':checked')).waitFor();
    },
    nextOption: () => hands.press(),
    mark: () => button('triangle'),
    askQuality: () => button('create'),
    openMenu: () => button('options'),
    openBar: () => button('guide'),
    back: () => button('circle'),
  };
  return hands;
}

/** The direction towards a control: first up or down to its row, then left or right along the row. */
function wayTo(control: Locator): Promise<Way> {
  return control.evaluate((element) => {
    const to = element.getBoundingClientRect();
    const focused = document.activeElement ?? document.body;
    const from = focused.getBoundingClientRect();
    const middle = (box: DOMRect) => box.top + box.height / 2;
    const isBeside = Math.abs(middle(to) - middle(from)) < Math.max(to.height, from.height) / 2;
    if (focused === document.body || !isBeside) return middle(to) > middle(from) ? 'down' : 'up';
    return to.left > from.left ? 'right' : 'left';
  });
}
