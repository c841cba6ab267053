// @vitest-environment happy-dom
import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, test } from 'vitest';
import { putInForce } from '../../../i18n/translate.ts';
import { type Column, ListTable } from './list-table.tsx';

afterEach(() => {
  cleanup();
  putInForce({}, 'en-GB');
});

test('a head in the language of the page is not translated again', () => {
  // "Rate" is a German word for an instalment, and an English one for a speed.
  putInForce({ Time: 'Zeit', Rate: 'Geschwindigkeit' }, 'de');
  const columns: Column<number>[] = [
    { head: 'Time', cell: (row) => row },
    { head: 'Rate', translated: true, cell: (row) => row },
  ];
  render(<ListTable label="x" columns={columns} rows={[1]} rowKey={(row) => row} />);
  expect(screen.getAllByRole('columnheader').map(({ textContent }) => textContent)).toEqual(['Zeit', 'Rate']);
  expect(screen.getAllByRole('cell').map((cell) => cell.dataset.label)).toEqual(['Zeit', 'Rate']);
});
