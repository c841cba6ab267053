// @vitest-environment happy-dom
import { cleanup, screen } from '@testing-library/react';
import { afterEach, expect, test } from 'vitest';
import { host } from '../../../test/fixtures.ts';
import { showPage } from '../../../test/show-page.tsx';
import { CheckChip, HostFaultChip, SessionChip } from './states.tsx';

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

const failed = (...ids: string[]) => ({
  readiness: ids.map((id) => ({ id, status: 'fail', summary: '', remediation: [] })),
});

test.each([
  [failed('input_devices'), '1 check failed', 'warning'],
  [failed('input_devices', 'gpu'), '2 checks failed', 'danger'],
  [{ capacity_detection: 'failed' }, 'No capacity', 'danger'],
  [{ capacity_detection: 'unavailable' }, 'No capacity', 'warning'],
] as const)('a host with %j is shown with "%s"', async (part, label, tone) => {
  showPage(<HostFaultChip host={host(1, part)} />);
  expect((await screen.findByText(label)).className).toContain(tone);
});

test('a host that passes its checks or is offline has no fault', async () => {
  showPage(
    <main>
      <HostFaultChip host={host(1)} />
      <HostFaultChip host={host(1, { status: 'offline', ...failed('gpu') })} />
    </main>,
  );
  expect((await screen.findByRole('main')).textContent).toBe('');
});

test('a running session on an offline host is a warning', async () => {
  showPage(<SessionChip session={{ state: 'running' }} hostStatus="offline" />);
  const chip = await screen.findByText('Running');
  expect([chip.title, chip.className.includes('warning')]).toEqual(['Its host is offline', true]);
});
