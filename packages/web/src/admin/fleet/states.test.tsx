// @vitest-environment happy-dom
import { cleanup, screen } from '@testing-library/react';
import { afterEach, expect, test } from 'vitest';
import { showPage } from '../../../test/show-page.tsx';
import { CheckChip } from './states.tsx';

afterEach(cleanup);

test.each([
  ['pass', 'Passed'],
  ['later', 'later'],
  ['constructor', 'constructor'],
  ['__proto__', '__proto__'],
])('a check with the status %s is shown as %s, whatever a host writes', async (status, label) => {
  showPage(<CheckChip status={status} />);
  expect(await screen.findByText(label)).toBeDefined();
});
