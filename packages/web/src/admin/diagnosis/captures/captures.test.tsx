// @vitest-environment happy-dom
import { gzipSync } from 'node:zlib';
import type { Capture } from '@footlight/protocol/rest';
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import '../../../../test/patience.ts';
import { ago, id } from '../../../../test/fixtures.ts';
import { addOperations } from '../../../api/client.ts';
import { adminOperationTable } from '../../frame/admin-operation-table.ts';
import type { TraceEvent } from '../event-labels.ts';
import { BundleButton } from './bundle-button.tsx';
import { Captures } from './captures.tsx';

addOperations(adminOperationTable);

const SESSION = id(2, 1);
const CAPTURE = id(7, 1);
const NOW = Date.parse(ago(0));

const result = (part: Partial<Capture>): Capture => ({
  capture_id: CAPTURE,
  kind: 'log_tail',
  ts_unix_ms: NOW,
  encoding: 'gzip+base64',
  content_type: 'text/plain',
  bytes: 2_048,
  compressed_bytes: 300,
  truncated: false,
  duration_ms: 3,
  ...part,
});
const refusal = (status: number, code: string, message = '') =>
  Response.json({ error: { code, message } }, { status });

let asked: string[];
let arm: (body: { kind: string }) => Response;
let results: Response[];
/** Requests for the events that find no result yet. */
let arrivesAfter: number;
let polls: number;
let saved: { name: string; url: string }[];

beforeEach(() => {
  asked = [];
  saved = [];
  results = [];
  arrivesAfter = 0;
  polls = 0;
  arm = ({ kind }) =>
    Response.json(
      { capture_id: CAPTURE, kind, session_id: SESSION, accepted_at: new Date(NOW).toISOString() },
      { status: 202 },
    );
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    asked.push(`${init.method} ${url}`);
    if (init.method === 'POST') return arm(JSON.parse(String(init.body)));
    if (url.includes('/trace/events')) {
      const type = new URL(url, 'http://here').searchParams.get('types') ?? '';
      const event = { source: 'agent', ts_unix_ms: NOW, type, payload: { capture_id: CAPTURE } };
      polls += 1;
      return Response.json({ window: {}, events: polls > arrivesAfter && results.length > 0 ? [event] : [] });
    }
    return results[0]?.clone() ?? refusal(404, 'not_found');
  });
  vi.spyOn(URL, 'createObjectURL').mockReturnValue('blob:1');
  vi.spyOn(URL, 'revokeObjectURL').mockReturnValue();
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function save(this: HTMLAnchorElement) {
    saved.push({ name: this.download, url: this.href });
  });
});
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const show = (page: React.ReactNode) =>
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        {page}
      </QueryClientProvider>
    </MantineProvider>,
  );
const open = (part: { running?: boolean; events?: TraceEvent[] } = {}) =>
  show(<Captures sessionId={SESSION} running={part.running ?? true} events={part.events ?? []} />);
const press = async (name: string | RegExp) => fireEvent.click(await screen.findByRole('button', { name }));

describe('a capture', () => {
  test('is in progress until its result arrives, which is shown and can be saved', async () => {
    results = [Response.json(result({ data: gzipSync('app hello').toString('base64') }))];
    arrivesAfter = 1;
    open();
    await press('Capture log');
    expect(await screen.findByText('Under way')).toBeDefined();
    expect(await screen.findByText('app hello')).toBeDefined();
    expect(screen.getByText('Ready')).toBeDefined();
    expect(screen.getByText('2 kB')).toBeDefined();
    await press(/^Download capture Log/);
    await waitFor(() => expect(saved).toEqual([{ name: `log_tail-${CAPTURE}.txt`, url: 'blob:1' }]));
    expect(asked[0]).toBe(`POST /v1/admin/sessions/${SESSION}/capture`);
    // The result is read once: before it has arrived, the answer would be 404.
    expect(asked.filter((request) => request.endsWith(`/captures/${CAPTURE}`))).toHaveLength(1);
  });

  test('of frames is a table', async () => {
    const windows = [{ t_ms: 0, encode_ms: { p50: 4.04, p95: 6, max: 9 }, fps: 60, frames_dropped: 1 }];
    results = [
      Response.json(result({ kind: 'burst_stats', encoding: 'json', json: { window_ms: 250, windows } })),
    ];
    open();
    await press('Capture frame by frame');
    const table = await screen.findByRole('region', { name: 'Frames of the capture, table' });
    expect(
      within(table)
        .getAllByRole('cell')
        .map(({ textContent }) => textContent),
    ).toEqual(['0 ms', '60', '4.0', '6.0', '9.0', '–', '1']);
  });

  test('of the window is unpacked when opened, because a host may have sent 200 of them', async () => {
    const unpacked = vi.spyOn(globalThis, 'atob');
    results = [Response.json(result({ data: gzipSync('app hello').toString('base64') }))];
    const payload = { capture_id: CAPTURE };
    open({ events: [{ source: 'agent', ts_unix_ms: NOW, type: 'diag.log_tail', payload }] });
    expect(await screen.findByText('Ready')).toBeDefined();
    expect(unpacked).not.toHaveBeenCalled();
    await press('Log');
    expect(await screen.findByText('app hello')).toBeDefined();
    expect(unpacked).toHaveBeenCalledOnce();
  });

  // Texts from the host: its log, names in its pipeline, and output of an app.
  const MARKUP = '<img src=x onerror="document.title=1"><script>document.title=1</script>';
  const windows = [{ t_ms: 0, fps: MARKUP, encode_ms: { p50: MARKUP } }];
  test.each([
    ['a log', { kind: 'log_tail', data: gzipSync(MARKUP).toString('base64') }, MARKUP],
    ['a pipeline', { kind: 'pipeline_dot', data: gzipSync(MARKUP).toString('base64') }, MARKUP],
    ['properties', { kind: 'encoder_props', json: { rate: MARKUP } }, JSON.stringify(MARKUP)],
    ['windows of a burst', { kind: 'burst_stats', json: { windows } }, 'From'],
    ['a kind that this page does not know', { kind: MARKUP, json: { some: 1 } }, '"some"'],
    ['the reason of a failure', { kind: 'log_tail', error: MARKUP }, MARKUP],
  ])('with markup in %s shows it as text', async (_, part, shown) => {
    results = [Response.json(result(part))];
    const payload = { capture_id: CAPTURE };
    open({ events: [{ source: 'agent', ts_unix_ms: NOW, type: `diag.${part.kind}`, payload }] });
    await screen.findByText(/^(Ready|Failed)$/);
    await press(
      { log_tail: 'Log', pipeline_dot: 'Pipeline', encoder_props: 'Encoder', burst_stats: 'Frame by frame' }[
        part.kind
      ] ?? part.kind,
    );
    await waitFor(() => expect(document.body.textContent).toContain(shown));
    expect(document.body.querySelector('img, script')).toBeNull();
  });

  test('that failed says why', async () => {
    results = [Response.json(result({ error: 'timed_out', truncated: false }))];
    open();
    await press('Capture log');
    expect(await screen.findByText('Failed')).toBeDefined();
    expect(screen.getByText('The host could not capture it: timed out.')).toBeDefined();
  });

  test('of the window is listed, and shown as lost if its result is missing', async () => {
    const event = (kind: string, secondsAgo: number): TraceEvent => ({
      source: 'agent',
      ts_unix_ms: NOW - secondsAgo * 1_000,
      type: `diag.${kind}`,
      payload: { capture_id: CAPTURE },
    });
    open({ events: [event('pipeline_dot', 60)] });
    expect(await screen.findByText('Did not arrive')).toBeDefined();
    expect(screen.getByRole('button', { name: 'Pipeline' })).toBeDefined();
  });

  test('is offered only while the session runs', async () => {
    open({ running: false });
    expect((await screen.findByRole<HTMLButtonElement>('button', { name: 'Capture log' })).disabled).toBe(
      true,
    );
    expect(screen.getByText('Captures need a running session.')).toBeDefined();
  });

  test.each([
    [
      409,
      'capture_busy',
      'A capture of this session is under way.',
      'A capture of this session is under way.',
    ],
    [501, 'capture_unsupported', '', 'The agent of this host is too old to capture.'],
    [503, 'agent_not_connected', '', 'It reconnects automatically when it can. Try again shortly.'],
  ])('refused with %i %s shows the reason', async (status, code, message, label) => {
    arm = () => refusal(status, code, message);
    open();
    await press('Capture log');
    expect((await screen.findByRole('alert')).textContent).toContain(label);
  });
});

describe('the bundle', () => {
  test('is saved under the name of the service, for the shown window', async () => {
    results = [
      new Response('{}', {
        headers: { 'content-disposition': 'attachment; filename="session-1-bundle.json"' },
      }),
    ];
    show(<BundleButton sessionId={SESSION} window={{ from_ms: 1, to_ms: 2 }} />);
    await press('Download bundle');
    await waitFor(() => expect(saved).toEqual([{ name: 'session-1-bundle.json', url: 'blob:1' }]));
    expect(asked).toEqual([`GET /v1/admin/sessions/${SESSION}/diagnostic-bundle?from=1&to=2`]);
  });
});
