// @vitest-environment happy-dom
import { MantineProvider } from '@mantine/core';
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import type { StreamView } from '../use-stream.ts';
import { SessionBar } from './session-bar.tsx';

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const NO_STREAM: StreamView = {
  client: null,
  state: { kind: 'idle' },
  history: [],
  audio: null,
  input: null,
  shown: true,
  app: null,
  notice: null,
  display: null,
  layout: null,
  windows: [],
  guests: [],
  ownerWatches: true,
};
const onHold = vi.fn();
const onBack = vi.fn();

function bar(now: { shown: boolean; focusAsked: number; hasFiles?: boolean }) {
  const none = () => {};
  return (
    <MantineProvider>
      <SessionBar
        name="Blender"
        view={NO_STREAM}
        microphone={false}
        shown={now.shown}
        focusAsked={now.focusAsked}
        place={{ edge: 'top', handle: false }}
        quality={undefined}
        layoutSign={null}
        level="dot"
        onLevel={none}
        onHold={onHold}
        onKeyboard={none}
        onWindows={none}
        onFiles={now.hasFiles ? none : null}
        onTouch={null}
        onType={null}
        onLeave={none}
        onBack={onBack}
        onMore={none}
        onShare={none}
        onEnd={none}
      />
    </MantineProvider>
  );
}

const first = () => screen.getByRole('button', { name: /^Back to the library/, hidden: true });

test('the bar takes the focus that keys requested, even if its file is loaded later', () => {
  render(bar({ shown: true, focusAsked: 1 }));
  expect(document.activeElement).toBe(first());
});

test('it takes the focus when it is shown, and again when it is requested again', () => {
  const { rerender } = render(bar({ shown: false, focusAsked: 1 }));
  expect(document.activeElement).toBe(document.body);
  rerender(bar({ shown: true, focusAsked: 1 }));
  expect(document.activeElement).toBe(first());
  first().blur();
  rerender(bar({ shown: true, focusAsked: 2 }));
  expect(document.activeElement).toBe(first());
});

test('a bar that a pointer opened leaves the focus with the app', () => {
  render(bar({ shown: true, focusAsked: 0 }));
  expect(document.activeElement).toBe(document.body);
});

test('when a focused button is removed, the app gets the keyboard back', () => {
  const { rerender } = render(bar({ shown: true, focusAsked: 0, hasFiles: true }));
  const files = screen.getByRole('button', { name: 'Files' });
  files.focus();
  fireEvent.focus(files);
  expect(onHold).toHaveBeenLastCalledWith('focus', true);
  rerender(bar({ shown: true, focusAsked: 0, hasFiles: false }));
  expect(onHold).toHaveBeenLastCalledWith('focus', false);
  expect(onBack).toHaveBeenCalledOnce();
});

test('the button under the pointer stays at its place while another button appears and disappears', () => {
  // A centred row of buttons, 40 px each.
  vi.spyOn(Element.prototype, 'getBoundingClientRect').mockImplementation(function (this: Element) {
    const row = screen.getByRole('toolbar');
    const buttons = [...row.querySelectorAll('button')];
    const shifted = Number.parseFloat(row.style.translate || '0');
    return {
      left: 500 - 20 * buttons.length + 40 * buttons.indexOf(this as HTMLButtonElement) + shifted,
    } as DOMRect;
  });
  const { rerender } = render(bar({ shown: true, focusAsked: 0 }));
  const left = () => screen.getByRole('button', { name: 'End Blender' }).getBoundingClientRect().left;
  const before = left();
  fireEvent.pointerOver(screen.getByRole('button', { name: 'End Blender' }).firstElementChild as Element);
  rerender(bar({ shown: true, focusAsked: 0, hasFiles: true }));
  expect(left()).toBe(before);
  rerender(bar({ shown: true, focusAsked: 0, hasFiles: false }));
  expect(left()).toBe(before);
  rerender(bar({ shown: true, focusAsked: 0, hasFiles: true }));
  fireEvent.pointerLeave(screen.getByRole('toolbar'));
  expect(left()).toBe(before + 20);
});
