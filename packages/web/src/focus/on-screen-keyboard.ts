import { t } from '../i18n/translate.ts';
import styles from './on-screen-keyboard.module.css';
import { type KeyPage, keyRows, type ScreenKey } from './on-screen-keys.ts';

type TextField = HTMLInputElement | HTMLTextAreaElement;

const TEXT_TYPES: ReadonlySet<string> = new Set([
  'text',
  'search',
  'email',
  'password',
  'url',
  'tel',
  'number',
]);

/** The element if it is a text field; otherwise null. */
export function textFieldOf(element: Element): TextField | null {
  if (element instanceof HTMLTextAreaElement) return element.readOnly ? null : element;
  if (!(element instanceof HTMLInputElement) || element.readOnly) return null;
  return TEXT_TYPES.has(element.type) ? element : null;
}

/**
 * Shows a keyboard for a field, for a person who only has a gamepad. Arrow keys and gamepads move the focus in it as in
 * every dialog. It is built without React, because it writes into fields of any page. Closing the dialog returns the
 * focus to the field.
 *
 * Teardown: `done` removes the keyboard, and so does the gamepad's back button, which cancels the dialog.
 */
export function openKeyboard(field: TextField): void {
  const dialog = document.createElement('dialog');
  dialog.className = styles.keyboard ?? '';
  dialog.setAttribute('aria-label', t('Keyboard'));
  const shown = document.createElement('output');
  shown.className = styles.shown ?? '';
  const keys = document.createElement('div');
  keys.className = styles.keys ?? '';
  dialog.append(shown, keys);
  document.body.append(dialog);

  let page: KeyPage = { shift: false, signs: false };
  const show = () => {
    const { value } = field;
    // Hides a password, because other people may see the screen.
    shown.textContent = field.type === 'password' ? '•'.repeat([...value].length) : value;
  };
  const close = () => {
    dialog.close();
    dialog.remove();
    // Focuses the field again, because the browser returns the focus only if the field had it when the dialog was
    // opened.
    field.focus();
  };
  const press = (key: ScreenKey) => {
    if ('writes' in key) {
      write(field, field.value + key.writes);
      if (page.shift) turn({ ...page, shift: false });
    } else if (key.does === 'erase') write(field, [...field.value].slice(0, -1).join(''));
    else if (key.does === 'done') close();
    else turn({ ...page, [key.does]: !page[key.does] });
    show();
  };
  const turn = (next: KeyPage) => {
    const focused = document.activeElement;
    const rows = [...keys.children];
    const row = rows.findIndex((one) => one.contains(focused));
    const column = row < 0 ? 0 : [...(rows[row]?.children ?? [])].indexOf(focused as Element);
    // Counted from the end, because the row of commands is always last, whatever rows are above it.
    const fromEnd = row < 0 ? null : rows.length - row;
    page = next;
    draw();
    const line = fromEnd === null ? keys.children[1] : keys.children[keys.children.length - fromEnd];
    const target = line?.children[Math.min(column, (line?.children.length ?? 1) - 1)];
    if (target instanceof HTMLElement) target.focus();
  };
  const draw = () => {
    keys.replaceChildren(
      ...keyRows(page, document.documentElement.lang).map((row) => {
        const line = document.createElement('div');
        line.className = styles.row ?? '';
        line.append(...row.map((key) => keyButton(key, page, () => press(key))));
        return line;
      }),
    );
  };
  dialog.addEventListener('cancel', (event) => {
    event.preventDefault();
    close();
  });
  show();
  dialog.showModal();
  turn(page);
}

function keyButton(key: ScreenKey, page: KeyPage, onPress: () => void): HTMLButtonElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = styles.key ?? '';
  if ('writes' in key) {
    button.textContent = key.writes === ' ' ? '␣' : key.writes;
    if (key.writes === ' ') button.setAttribute('aria-label', t('Space'));
  } else {
    button.dataset.does = key.does;
    button.textContent = { shift: '⇧', signs: page.signs ? 'abc' : '#+=', erase: '⌫', done: '✓' }[key.does];
    button.setAttribute('aria-label', labelOf(key.does));
    if (key.does === 'shift' || key.does === 'signs')
      button.setAttribute('aria-pressed', String(page[key.does]));
  }
  button.addEventListener('click', onPress);
  return button;
}

function labelOf(does: Extract<ScreenKey, { does: unknown }>['does']): string {
  if (does === 'shift') return t('Capital letters');
  if (does === 'signs') return t('Signs');
  return does === 'erase' ? t('Delete') : t('Done');
}

/**
 * Sets the value in the same way as typing does, because React ignores a value that is set through the field's own
 * property.
 */
function write(field: TextField, value: string): void {
  if (field.maxLength >= 0 && value.length > field.maxLength && value.length > field.value.length) return;
  const prototype =
    field instanceof HTMLInputElement ? HTMLInputElement.prototype : HTMLTextAreaElement.prototype;
  Object.getOwnPropertyDescriptor(prototype, 'value')?.set?.call(field, value);
  field.dispatchEvent(new Event('input', { bubbles: true }));
}
