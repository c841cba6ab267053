// @vitest-environment happy-dom
import { decodeInput, type InputMessage } from '@footlight/protocol/input';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Keyboard } from './keyboard.ts';
import { InputSender } from './sender.ts';

let surface: HTMLElement;
let keyboard: Keyboard;
let make: () => Keyboard;
let sent: (InputMessage | string)[];
let enabled: boolean;
let timers: (() => void)[];
let releases: number;

beforeEach(() => {
  sent = [];
  timers = [];
  enabled = true;
  releases = 0;
  const environment = {
    monotonicMs: () => 0,
    setTimeout: (work: () => void) => {
      timers.push(work);
      return { cancel: () => void timers.splice(timers.indexOf(work), 1) };
    },
  };
  const channel = {
    readyState: 'open',
    bufferedAmount: 0,
    send: (data: Uint8Array) => {
      const decoded = decodeInput(data, 'input');
      if (decoded.kind === 'message') sent.push(decoded.message);
    },
  } as unknown as RTCDataChannel;
  const sender = new InputSender(environment, () => undefined);
  sender.attach({ input: channel, motion: channel });
  surface = document.createElement('div');
  document.body.append(surface);
  make = () =>
    new Keyboard(environment, sender, surface, {
      isEnabled: () => enabled,
      onGesture: () => undefined,
      onEscape: () => sent.push('escape'),
      onPaste: (text) => sent.push(`clipboard ${text}`),
      onRelease: () => {
        releases += 1;
      },
    });
  keyboard = make();
});

afterEach(() => {
  keyboard.dispose();
  surface.remove();
  Object.defineProperty(document, 'hidden', { configurable: true, value: false });
  Object.defineProperty(navigator, 'platform', { configurable: true, value: PLATFORM });
});

const PLATFORM = navigator.platform;

const target = () => keyboard.field ?? surface;
const press = (type: 'keydown' | 'keyup', code: string, init: KeyboardEventInit = {}) =>
  target().dispatchEvent(new KeyboardEvent(type, { code, bubbles: true, cancelable: true, ...init }));
const keys = () =>
  sent.flatMap((item) => (typeof item !== 'string' && item.kind === 'key' ? [[item.code, item.down]] : []));

describe('the keyboard of the surface', () => {
  test('handles keys before the page and sends them once', () => {
    expect(press('keydown', 'KeyA')).toBe(false);
    press('keydown', 'KeyA', { repeat: true });
    press('keyup', 'KeyA');
    expect(keys()).toEqual([
      [30, true],
      [30, false],
    ]);
  });

  test('leaves keys to the page while it is off', () => {
    enabled = false;
    expect(press('keydown', 'KeyA')).toBe(true);
    expect(keys()).toEqual([]);
  });

  test('leaves keys to controls that are on the picture', () => {
    const button = document.createElement('button');
    button.dataset.streamOverlay = '';
    surface.append(button);
    const event = new KeyboardEvent('keydown', { code: 'Space', bubbles: true, cancelable: true });
    expect(button.dispatchEvent(event)).toBe(true);
    expect(keys()).toEqual([]);
  });

  test.each([
    ['the window blurs', () => window.dispatchEvent(new Event('blur'))],
    ['the focus leaves', () => target().dispatchEvent(new Event('focusout', { bubbles: true }))],
    [
      'the page is hidden',
      () => {
        Object.defineProperty(document, 'hidden', { configurable: true, value: true });
        document.dispatchEvent(new Event('visibilitychange'));
      },
    ],
    ['the page is put aside', () => window.dispatchEvent(new Event('pagehide'))],
  ])('releases everything when %s, and a later key release is not sent', (_when, happens) => {
    press('keydown', 'ShiftLeft');
    happens();
    press('keyup', 'ShiftLeft');
    expect(keys()).toEqual([[42, true]]);
    expect(sent.at(-1)).toMatchObject({ kind: 'release_all' });
    expect(releases).toBe(1);
  });

  test('text composed in a field of the page is not typed into the app', () => {
    const field = document.createElement('textarea');
    field.dataset.streamOverlay = '';
    surface.append(field);
    field.dispatchEvent(Object.assign(new Event('compositionend', { bubbles: true }), { data: 'word' }));
    expect(sent).toEqual([]);
  });

  test('an element of the page that types for the session keeps the focus', () => {
    const field = document.createElement('textarea');
    field.dataset.streamTyping = '';
    surface.append(field);
    field.focus();
    keyboard.focus();
    expect(document.activeElement).toBe(field);
    field.blur();
    keyboard.focus();
    expect(document.activeElement).toBe(keyboard.field);
  });

  test('a key that is still held when the focus returns is sent at its next press', () => {
    press('keydown', 'KeyA');
    window.dispatchEvent(new Event('blur'));
    press('keydown', 'KeyA', { repeat: true });
    press('keyup', 'KeyA');
    press('keydown', 'KeyA');
    expect(keys()).toEqual([
      [30, true],
      [30, true],
    ]);
  });

  test('keys are identified by their position, under any layout', () => {
    press('keydown', 'KeyQ', { key: 'a' });
    press('keydown', 'Semicolon', { key: 'ö' });
    press('keydown', 'Quote', { key: 'Dead' });
    expect(keys()).toEqual([
      [16, true],
      [39, true],
      [40, true],
    ]);
  });

  test('the right Alt key of Windows does not press the Control key that it comes with', () => {
    Object.defineProperty(navigator, 'platform', { configurable: true, value: 'Win32' });
    keyboard.dispose();
    keyboard = make();
    press('keydown', 'ControlLeft', { ctrlKey: true });
    press('keydown', 'AltRight', { key: 'AltGraph', ctrlKey: true, altKey: true });
    press('keydown', 'KeyQ', { key: '@' });
    expect(keys()).toEqual([
      [29, true],
      [29, false],
      [100, true],
      [16, true],
    ]);
  });

  test('sends the clipboard ahead of the key that pastes it', () => {
    press('keydown', 'ControlLeft', { ctrlKey: true });
    expect(press('keydown', 'KeyV', { ctrlKey: true })).toBe(true);
    expect(keys()).toEqual([[29, true]]);
    const paste = new Event('paste', { bubbles: true, cancelable: true });
    Object.assign(paste, { clipboardData: { getData: () => 'hello' } });
    target().dispatchEvent(paste);
    expect(sent.map((item) => (typeof item === 'string' ? item : item.kind))).toEqual([
      'key',
      'clipboard hello',
      'key',
    ]);
  });

  test('sends only the paste key when the browser has nothing to paste', () => {
    press('keydown', 'KeyV', { ctrlKey: true });
    timers[0]?.();
    expect(keys()).toEqual([[47, true]]);
  });

  test('a quick release does not overtake the paste key', () => {
    press('keydown', 'KeyV', { ctrlKey: true });
    press('keyup', 'KeyV', { ctrlKey: true });
    expect(keys()).toEqual([
      [47, true],
      [47, false],
    ]);
  });

  test('the paste key is not overtaken by the next one', () => {
    press('keydown', 'KeyV', { ctrlKey: true });
    press('keydown', 'KeyA');
    expect(keys()).toEqual([
      [47, true],
      [30, true],
    ]);
  });

  test('a waiting paste is cancelled when everything is released', () => {
    press('keydown', 'KeyV', { ctrlKey: true });
    window.dispatchEvent(new Event('blur'));
    expect(timers).toEqual([]);
    expect(keys()).toEqual([]);
  });

  test('long text is split between characters, within the size limit of a message', () => {
    keyboard.sendText('🎭'.repeat(600));
    const texts = sent.flatMap((item) =>
      typeof item !== 'string' && item.kind === 'text' ? [item.text] : [],
    );
    expect(texts.map((text) => text.length)).toEqual([512, 512, 176]);
    expect(texts.join('')).toBe('🎭'.repeat(600));
  });

  test('the leave combination releases everything and informs the page', () => {
    press('keydown', 'KeyZ', { ctrlKey: true, altKey: true, shiftKey: true });
    expect(sent).toContain('escape');
    expect(keys()).toEqual([]);
  });

  test('leaves no element behind', () => {
    keyboard.dispose();
    expect(surface.querySelector('textarea')).toBeNull();
  });
});

describe('text composed with an input method', () => {
  const compose = (data: string) =>
    target().dispatchEvent(Object.assign(new Event('compositionend', { bubbles: true }), { data }));
  const edit = (inputType: string, data: string | null = null) => {
    const event = new Event('beforeinput', { bubbles: true, cancelable: true });
    Object.assign(event, { inputType, data, isComposing: false });
    return target().dispatchEvent(event);
  };

  test('is sent as text, not as keys', () => {
    press('keydown', 'KeyA', { isComposing: true });
    press('keyup', 'KeyA', { isComposing: true });
    compose('漢字');
    expect(keys()).toEqual([]);
    expect(sent).toMatchObject([{ kind: 'text', text: '漢字' }]);
  });

  test('is not kept: the next composition starts empty', () => {
    if (keyboard.field !== null) keyboard.field.value = '漢字';
    compose('漢字');
    expect(keyboard.field?.value).toBe('');
  });

  test('is not sent when it is cancelled, or while input is disabled', () => {
    compose('');
    enabled = false;
    compose('漢字');
    expect(sent).toEqual([]);
  });

  test('stays in the field, and its end is typed once even if the browser reports it twice', () => {
    expect(edit('insertCompositionText', '漢')).toBe(true);
    compose('漢字');
    expect(edit('insertFromComposition', '漢字')).toBe(false);
    expect(sent).toMatchObject([{ kind: 'text', text: '漢字' }]);
  });

  test('keys of an on-screen keyboard have no code, so text is sent', () => {
    expect(press('keydown', '', { key: 'é' })).toBe(true);
    edit('insertText', 'é');
    edit('insertLineBreak');
    edit('deleteContentBackward');
    expect(sent[0]).toMatchObject({ kind: 'text', text: 'é' });
    expect(keys()).toEqual([
      [28, true],
      [28, false],
      [14, true],
      [14, false],
    ]);
  });
});
