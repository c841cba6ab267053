// @vitest-environment happy-dom
import { decodeInput, type InputMessage } from '@footlight/protocol/input';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Environment } from '../types.ts';
import { Keyboard } from './keyboard.ts';
import { InputSender } from './sender.ts';

let surface: HTMLElement;
let keyboard: Keyboard;
let sent: (InputMessage | string)[];
let enabled: boolean;
let timers: (() => void)[];

beforeEach(() => {
  sent = [];
  timers = [];
  enabled = true;
  const environment = {
    monotonicMs: () => 0,
    setTimeout: (work: () => void) => {
      timers.push(work);
      return { cancel: () => void timers.splice(timers.indexOf(work), 1) };
    },
  } as unknown as Environment;
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
  keyboard = new Keyboard(environment, sender, surface, {
    isEnabled: () => enabled,
    onGesture: () => undefined,
    onEscape: () => sent.push('escape'),
    onPaste: (text) => sent.push(`clipboard ${text}`),
  });
});

afterEach(() => {
  keyboard.dispose();
  surface.remove();
});

const target = () => keyboard.field ?? surface;
const press = (type: 'keydown' | 'keyup', code: string, init: KeyboardEventInit = {}) =>
  target().dispatchEvent(new KeyboardEvent(type, { code, bubbles: true, cancelable: true, ...init }));
const keys = () =>
  sent.flatMap((item) => (typeof item !== 'string' && item.kind === 'key' ? [[item.code, item.down]] : []));

describe('the keyboard of the surface', () => {
  test('takes keys from the page and sends them once', () => {
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

  test('leaves keys to controls that lie on the picture', () => {
    const button = document.createElement('button');
    button.dataset.streamOverlay = '';
    surface.append(button);
    const event = new KeyboardEvent('keydown', { code: 'Space', bubbles: true, cancelable: true });
    expect(button.dispatchEvent(event)).toBe(true);
    expect(keys()).toEqual([]);
  });

  test('lets everything go when the focus leaves or the window blurs', () => {
    press('keydown', 'ShiftLeft');
    window.dispatchEvent(new Event('blur'));
    press('keyup', 'ShiftLeft');
    expect(keys()).toEqual([[42, true]]);
    expect(sent.at(-1)).toMatchObject({ kind: 'release_all' });
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

  test('sends the paste key alone where the browser has nothing to paste', () => {
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

  test('what an input method composes comes as text, not as keys', () => {
    press('keydown', 'KeyA', { isComposing: true });
    const composed = Object.assign(new Event('compositionend', { bubbles: true }), { data: '漢字' });
    target().dispatchEvent(composed);
    expect(keys()).toEqual([]);
    expect(sent).toMatchObject([{ kind: 'text', text: '漢字' }]);
  });

  test('long text is cut between characters, within the bound of a message', () => {
    keyboard.sendText('🎭'.repeat(600));
    const texts = sent.flatMap((item) =>
      typeof item !== 'string' && item.kind === 'text' ? [item.text] : [],
    );
    expect(texts.map((text) => text.length)).toEqual([512, 512, 176]);
    expect(texts.join('')).toBe('🎭'.repeat(600));
  });

  test('the way out lets everything go and tells the page', () => {
    press('keydown', 'KeyZ', { ctrlKey: true, altKey: true, shiftKey: true });
    expect(sent).toContain('escape');
    expect(keys()).toEqual([]);
  });

  test('leaves no element behind', () => {
    keyboard.dispose();
    expect(surface.querySelector('textarea')).toBeNull();
  });
});
