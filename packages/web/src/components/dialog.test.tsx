// @vitest-environment happy-dom
import { MantineProvider } from '@mantine/core';
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { ApiFailure } from '../api/client.ts';
import { ConfirmDialog } from './confirm-dialog.tsx';
import { Dialog } from './dialog.tsx';

afterEach(cleanup);

function show(part: Partial<Parameters<typeof ConfirmDialog>[0]> = {}) {
  const onConfirm = vi.fn();
  const onClose = vi.fn();
  render(
    <MantineProvider>
      <ConfirmDialog
        opened
        title="Drain gpu-02?"
        action="End 3 sessions and drain gpu-02"
        pending={false}
        error={null}
        onConfirm={onConfirm}
        onClose={onClose}
        {...part}
      >
        <p>Three people lose what they did not save.</p>
      </ConfirmDialog>
    </MantineProvider>,
  );
  return { onConfirm, onClose };
}

test('a dangerous action names thing and number, and the focus starts on Cancel', () => {
  const { onConfirm, onClose } = show();
  expect(screen.getByRole('dialog', { name: 'Drain gpu-02?' })).toBeDefined();
  const out = screen.getByRole('button', { name: 'Cancel' });
  expect(document.activeElement).toBe(out);
  fireEvent.click(screen.getByRole('button', { name: 'End 3 sessions and drain gpu-02' }));
  expect(onConfirm).toHaveBeenCalledTimes(1);
  fireEvent.click(out);
  expect(onClose).toHaveBeenCalledTimes(1);
});

test('Escape closes it, and a closed dialog is not in the document', () => {
  const { onClose } = show();
  fireEvent(screen.getByRole('dialog'), new Event('cancel', { cancelable: true }));
  expect(onClose).toHaveBeenCalledTimes(1);
  cleanup();
  show({ opened: false });
  expect(screen.queryByRole('dialog')).toBeNull();
});

test.each([
  ['is hidden', false],
  ['leaves the page', null],
])('the button that opened it has the focus again after it %s', (_how, opened) => {
  const page = (open: boolean | null) => (
    <MantineProvider>
      <button type="button">Drain</button>
      {open !== null && (
        <Dialog opened={open} title="Drain gpu-02?" onClose={vi.fn()}>
          <button type="button" data-autofocus>
            Cancel
          </button>
        </Dialog>
      )}
    </MantineProvider>
  );
  const { rerender } = render(page(opened));
  const button = screen.getByRole('button', { name: 'Drain' });
  button.focus();
  rerender(page(true));
  expect(document.activeElement).toBe(screen.getByRole('button', { name: 'Cancel' }));
  rerender(page(opened));
  expect(document.activeElement).toBe(button);
});

test('a refusal is shown inside, with its code to quote', () => {
  show({ error: new ApiFailure(409, 'conflict', 'The host has a live connection.') });
  expect(screen.getByRole('alert').textContent).toContain('The host has a live connection.');
  expect(screen.getByRole('alert').textContent).toContain('conflict · 409');
});
