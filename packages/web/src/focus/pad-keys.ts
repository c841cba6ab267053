import { openKeyboard, textFieldOf } from './on-screen-keyboard.ts';
import type { PadAction } from './pad-kind.ts';

const KEYS: Partial<Record<PadAction, string>> = {
  left: 'ArrowLeft',
  right: 'ArrowRight',
  up: 'ArrowUp',
  down: 'ArrowDown',
  favourite: 'f',
  find: '/',
  quality: 'q',
};

/**
 * Performs a gamepad's action as a key press, so that pages handle only keys.
 * @returns whether the page used the action; false for `back` on a page with nothing to close
 */
export function actAsKeyboard(action: PadAction, repeated: boolean): boolean {
  const focused = document.activeElement ?? document.body;
  const key = KEYS[action];
  if (key !== undefined) return pressed(focused, key, repeated);
  if (action === 'accept') return accept(focused);
  if (action === 'menu') return openMenu(document.querySelector('[data-person-menu]'));
  return goBack(focused);
}

/** Opens the menu and focuses its first entry, so that arrow keys move in the menu and the back button closes it. */
function openMenu(opener: Element | null): boolean {
  if (opener instanceof HTMLElement) opener.focus();
  return clicked(opener);
}

function accept(focused: Element): boolean {
  const field = textFieldOf(focused);
  if (field !== null) {
    openKeyboard(field);
    return true;
  }
  if (focused instanceof HTMLSelectElement) {
    const options = [...focused.options];
    const order = [...options.slice(focused.selectedIndex + 1), ...options.slice(0, focused.selectedIndex)];
    const next = order.find((option) => !option.disabled);
    if (next === undefined) return false;
    focused.selectedIndex = options.indexOf(next);
    return focused.dispatchEvent(new Event('change', { bubbles: true }));
  }
  return focused !== document.body && clicked(focused);
}

/** Closes the topmost dialog; without a dialog, sends Escape. A dialog does not react to Escape events of scripts. */
function goBack(focused: Element): boolean {
  const dialogs = document.querySelectorAll('dialog[open]');
  const top = dialogs[dialogs.length - 1];
  if (top !== undefined) {
    top.dispatchEvent(new Event('cancel', { cancelable: true }));
    return true;
  }
  return pressed(focused, 'Escape', false);
}

function clicked(element: Element | null): boolean {
  if (!(element instanceof HTMLElement)) return false;
  element.click();
  return true;
}

/** @returns whether a handler used the key */
function pressed(target: Element, key: string, repeat: boolean): boolean {
  return !target.dispatchEvent(
    new KeyboardEvent('keydown', { key, repeat, bubbles: true, cancelable: true }),
  );
}
