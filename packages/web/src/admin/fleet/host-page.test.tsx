// @vitest-environment happy-dom
import type { Host } from '@footlight/protocol/rest';
import { cleanup, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { ago, certifications, concurrency, host } from '../../../test/fixtures.ts';
import { answerBy, showPage } from '../../../test/show-page.tsx';
import { HostCertification } from './host-certification.tsx';
import { HostPage } from './host-page.tsx';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function open(part: Partial<Host>) {
  const shown = host(1, part);
  answerBy({
    'hosts.read': () => shown,
    'hosts.gpus': () => ({ items: [] }),
    'certification.list': () => ({ certifications: [] }),
    'certification.concurrency': () => ({ items: [] }),
  });
  showPage(<HostPage id={shown.id} />);
}

test.each<[string, Partial<Host>]>([
  ['connected ', { last_heartbeat_at: null, last_registered_at: ago(0) }],
  ['has not connected yet', { status: 'offline', last_heartbeat_at: null, last_registered_at: null }],
  ['last heartbeat ', { last_heartbeat_at: ago(0) }],
])('the head of the page says “%s”', async (label, part) => {
  open(part);
  const says = ({ tagName, textContent }: Element) => tagName === 'SPAN' && textContent?.startsWith(label);
  await screen.findByText((_text, element) => element !== null && says(element) === true);
});

test('the page of an offline host says what to check', async () => {
  open({ status: 'offline' });
  await screen.findByDisplayValue('systemctl status footlight-agent');
});

const showCertification = (status: Host['status']) => {
  answerBy({
    'certification.list': () => ({ certifications }),
    'certification.concurrency': () => ({ items: concurrency }),
  });
  showPage(<HostCertification host={host(1, { status })} />);
};

test('a measured host can be measured again', async () => {
  showCertification('online');
  await screen.findByDisplayValue(/^footlight certify \S+ --profiles 720p60$/);
});

test('an offline host is not offered for a measurement, with the reason', async () => {
  showCertification('offline');
  await screen.findByText(/^An offline host cannot be measured/);
  expect(screen.queryByDisplayValue(/certify/)).toBeNull();
});
