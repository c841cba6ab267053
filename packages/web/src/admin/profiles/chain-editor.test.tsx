// @vitest-environment happy-dom
import { MantineProvider } from '@mantine/core';
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { useState } from 'react';
import { afterEach, expect, test } from 'vitest';
import { rung } from '../../../test/fixtures.ts';
import { ChainEditor } from './chain-editor.tsx';

afterEach(cleanup);

const RUNGS = ['a', 'b', 'c'].map((id) => rung(id, { display_name: `Rung ${id}` }));

function Editor(props: { initial: string[] }) {
  const [chain, setChain] = useState(props.initial);
  return (
    <MantineProvider>
      <ChainEditor rungs={RUNGS} value={chain} error={null} onChange={setChain} />
      <output>{chain.join(' ')}</output>
    </MantineProvider>
  );
}

const button = (name: string) => screen.getByRole('button', { name });
const chain = () => document.querySelector('output')?.textContent;
const said = () => document.querySelector('p[role="status"]')?.textContent;

test('a rung keeps the focus when it is moved, and its position is announced', () => {
  render(<Editor initial={['a', 'b', 'c']} />);
  const up = button('Move Rung c up');
  up.focus();
  fireEvent.click(up);
  expect(chain()).toBe('a c b');
  expect(said()).toBe('Rung c is now number 2 of 3');
  fireEvent.click(up);
  expect(chain()).toBe('c a b');
  expect(document.activeElement).toBe(up);
  expect(up.getAttribute('aria-disabled')).toBe('true');
  fireEvent.click(up);
  expect(chain()).toBe('c a b');
});

test('a removed rung can be added again, at the end', () => {
  render(<Editor initial={['a', 'b']} />);
  const choice = screen.getByRole('combobox', { name: 'Rung to add' });
  fireEvent.click(button('Take Rung a out'));
  expect(chain()).toBe('b');
  expect(document.activeElement).toBe(choice);
  fireEvent.change(choice, { target: { value: 'a' } });
  fireEvent.click(button('Add'));
  expect(chain()).toBe('b a');
  expect(said()).toBe('Rung a is now number 2, the last');
});

test('adding without a choice focuses the choice', () => {
  render(<Editor initial={['a']} />);
  fireEvent.click(button('Add'));
  expect(chain()).toBe('a');
  expect(document.activeElement).toBe(screen.getByRole('combobox', { name: 'Rung to add' }));
});
