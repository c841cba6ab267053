import type { KeyboardLayout } from '@footlight/protocol/input';
import type { StreamClient } from '@footlight/stream-client';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { msg, t } from '../../i18n/translate.ts';
import { chordCode } from '../../keyboard/chord-code.ts';
import styles from './touch.module.css';
import { editsOf } from './typed-edits.ts';

/**
 * Initial content of the field, so that Backspace has a character to delete. In an empty field Backspace causes no
 * event.
 */
const PAD = ' ';
/** Length of the text before the caret that a phone's keyboard may correct. Older text is removed from the field. */
const MAX_CHARACTERS = 200;
/**
 * Smallest change of height that counts as a keyboard. A smaller change is a bar of the browser that appears or
 * disappears.
 */
const KEYBOARD_PX = 100;

const KEYS = [
  ['Esc', 'Escape', msg('Escape key')],
  ['Tab', 'Tab', msg('Tab key')],
  ['←', 'ArrowLeft', msg('Arrow left')],
  ['↓', 'ArrowDown', msg('Arrow down')],
  ['↑', 'ArrowUp', msg('Arrow up')],
  ['→', 'ArrowRight', msg('Arrow right')],
] as const;
const HELD_KEYS = [
  [msg('Ctrl'), 'ControlLeft'],
  ['Alt', 'AltLeft'],
] as const;
/** Keys that the toolbar shows instead of KEYS while Fn is on: the function keys, then these. */
const EDIT_KEYS = ['Home', 'End', 'PageUp', 'PageDown', 'Insert', 'Delete'];
/** Labels of EDIT_KEYS, as one text: "End" alone is also a button that ends an app. */
const EDIT_LABELS = msg('Home, End, PgUp, PgDn, Ins, Del');

/** Label and code of each key that Fn shows. */
function functionKeys(): (readonly [label: string, code: string])[] {
  const labels = t(EDIT_LABELS).split(', ');
  return [
    ...Array.from({ length: 12 }, (_, n) => [`F${n + 1}`, `F${n + 1}`] as const),
    ...EDIT_KEYS.map((code, at) => [labels[at] ?? code, code] as const),
  ];
}

/** Keys of a hardware keyboard that type no text. */
const OTHER_KEYS = /^(Arrow|Home$|End$|Page|Delete$|Insert$|Escape$|Tab$|F\d+$)/;

/**
 * Uses the phone's own keyboard for the app: a field that has the focus, and buttons for keys that a phone's keyboard
 * lacks. Text that is typed, composed or corrected in the field is sent as text and Backspace.
 */
export function PhoneKeyboard(props: {
  client: StreamClient;
  /** layout of the app's display; null: the host cannot set one */
  layout: KeyboardLayout | null;
  theatre: RefObject<HTMLElement | null>;
  typing: boolean;
  onTyping: (typing: boolean) => void;
  type: RefObject<(() => void) | null>;
}) {
  const { client, theatre, typing, onTyping, type } = props;
  const field = useRef<HTMLTextAreaElement>(null);
  const [held, setHeld] = useState<readonly string[]>([]);
  const [fn, setFn] = useState(false);
  const heldNow = useRef(held);
  heldNow.current = held;
  const layout = useRef(props.layout);
  layout.current = props.layout;

  useEffect(() => {
    const element = field.current;
    if (element === null) return;
    let before = PAD;
    const start = () => {
      element.value = PAD;
      before = PAD;
      element.setSelectionRange(PAD.length, PAD.length);
    };
    const press = (...codes: string[]) => {
      client.sendKeys([...heldNow.current, ...codes]);
      setHeld([]);
    };
    let composing = false;
    const send = () => {
      const { backspaces, text } = editsOf(before, element.value);
      before = element.value;
      for (let n = 0; n < backspaces; n++) client.sendKeys(['Backspace']);
      const code = heldNow.current.length > 0 ? chordCode(text, layout.current) : null;
      if (code !== null) {
        press(code);
        if (!composing) start();
      } else if (text !== '') client.sendText(text);
    };
    const settle = () => {
      if (composing || (element.value.startsWith(PAD) && element.value.length < MAX_CHARACTERS)) return;
      start();
    };
    const end = new AbortController();
    const listen = <Type extends keyof HTMLElementEventMap>(
      name: Type,
      listener: (event: HTMLElementEventMap[Type]) => void,
    ) => element.addEventListener(name, listener, { signal: end.signal });
    listen('focus', () => {
      start();
      onTyping(true);
    });
    listen('blur', () => {
      setHeld([]);
      onTyping(false);
    });
    listen('compositionstart', () => {
      composing = true;
    });
    listen('compositionend', () => {
      composing = false;
      send();
      settle();
    });
    listen('input', () => {
      send();
      settle();
    });
    listen('beforeinput', (event) => {
      if (event.inputType !== 'insertLineBreak' && event.inputType !== 'insertParagraph') return;
      event.preventDefault();
      press('Enter');
      start();
    });
    listen('keydown', (event) => {
      // The event comes from an input method, and its text arrives by composition.
      if (event.isComposing || event.keyCode === 229) return;
      const { key, code } = event;
      const isChord = event.ctrlKey || event.altKey || event.metaKey;
      const isEmpty = key === 'Backspace' && element.value.length <= PAD.length;
      if (
        key !== 'Enter' &&
        !isEmpty &&
        !OTHER_KEYS.test(key) &&
        !(isChord && code !== '' && key.length === 1)
      )
        return;
      event.preventDefault();
      const modifiers = [
        ...(event.ctrlKey ? ['ControlLeft'] : []),
        ...(event.altKey ? ['AltLeft'] : []),
        ...(event.shiftKey ? ['ShiftLeft'] : []),
        ...(event.metaKey ? ['MetaLeft'] : []),
      ];
      press(...modifiers, code === '' ? key : code);
      if (key === 'Enter') start();
    });
    type.current = () => {
      if (document.activeElement === element) element.blur();
      else element.focus({ preventScroll: true });
    };
    return () => {
      end.abort();
      type.current = null;
    };
  }, [client, onTyping, type]);

  // Moves the picture above the keyboard, which covers the page without changing its size.
  useEffect(() => {
    const [element, viewport] = [theatre.current, window.visualViewport];
    if (!typing || element === null || viewport === null) return;
    let covered = false;
    const fit = () => {
      const isCovered = window.innerHeight - viewport.height > KEYBOARD_PX;
      element.style.inset = isCovered ? `${viewport.offsetTop}px 0 auto` : '';
      element.style.height = isCovered ? `${viewport.height}px` : '';
      // The phone's keyboard was closed.
      if (covered && !isCovered) field.current?.blur();
      covered = isCovered;
    };
    fit();
    viewport.addEventListener('resize', fit);
    viewport.addEventListener('scroll', fit);
    return () => {
      viewport.removeEventListener('resize', fit);
      viewport.removeEventListener('scroll', fit);
      element.style.inset = '';
      element.style.height = '';
    };
  }, [theatre, typing]);

  const pressKey = (code: string) => {
    client.sendKeys([...held, code]);
    setHeld([]);
  };
  return (
    <>
      <textarea
        ref={field}
        className={styles.field}
        aria-label={t('Type into the app')}
        tabIndex={-1}
        autoCapitalize="off"
        autoComplete="off"
        data-stream-overlay=""
        data-stream-typing=""
      />
      {typing && (
        <div
          className={styles.keys}
          role="toolbar"
          aria-label={t('More keys')}
          data-stream-overlay=""
          // Keeps the focus in the field, so that the keyboard stays open.
          onMouseDown={(event) => event.preventDefault()}
        >
          {HELD_KEYS.map(([label, code]) => (
            <button
              key={code}
              type="button"
              aria-pressed={held.includes(code)}
              onClick={() =>
                setHeld(held.includes(code) ? held.filter((each) => each !== code) : [...held, code])
              }
            >
              {t(label)}
            </button>
          ))}
          <button type="button" aria-label={t('Function keys')} aria-pressed={fn} onClick={() => setFn(!fn)}>
            Fn
          </button>
          {fn
            ? functionKeys().map(([label, code]) => (
                <button key={code} type="button" onClick={() => pressKey(code)}>
                  {label}
                </button>
              ))
            : KEYS.map(([label, code, name]) => (
                <button key={code} type="button" aria-label={t(name)} onClick={() => pressKey(code)}>
                  {label}
                </button>
              ))}
        </div>
      )}
    </>
  );
}
