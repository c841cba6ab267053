// @vitest-environment happy-dom
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { cleanup, fireEvent, screen, waitFor, within } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { adminSession, preset } from '../../../test/fixtures.ts';
import { type Answers, type Asked, answerBy, refusal, showPage } from '../../../test/show-page.tsx';
import { image, imageCatalog, onHost } from '../../../test/upkeep-fixtures.ts';
import { bytesLabel } from '../../components/bytes-labels.ts';
import { imageState, presenceLabel, SYNC_SENTENCES } from './image-labels.ts';
import { ImagePage } from './image-page.tsx';
import { ImagesPage } from './images-page.tsx';

let answers: Answers;
let writes: Asked[];
const used = preset({ used_by: [{ id: 'app', name: 'Paint' }] });
beforeEach(() => {
  answers = {
    'images.list': () => imageCatalog,
    'images.install': () => Response.json({ image: image() }, { status: 201 }),
    'images.update': () => ({ applied: true, image: image() }),
    'images.uninstall': () => new Response(null, { status: 204 }),
    'images.pin': () => new Response(null, { status: 204 }),
    'images.unpin': () => new Response(null, { status: 204 }),
    'runtimePresets.read': () => ({ runtime_preset: used }),
    'admin.sessions.list': () => ({ items: [adminSession(1, { app_id: 'app' })], next_cursor: null }),
  };
  writes = answerBy(answers);
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});
const press = async (name: string | RegExp) => fireEvent.click(await screen.findByRole('button', { name }));
const list = () => showPage(<ImagesPage search={{}} onSearch={() => undefined} />);

describe('the label of an image in the list', () => {
  const pulling = onHost(1, { state: 'pulling', progress_pct: 40, bytes: null });
  const failed = onHost(2, { state: 'failed', error: 'no space' });
  test.each([
    [image(), 'Installed', '3 of 3 hosts'],
    [image({ installed: false }), 'Not installed', '–'],
    [image({ hosts: [pulling, onHost(2)] }), 'Fetching on 1 host', '1 of 2 hosts, 40 %'],
    [image({ hosts: [pulling, failed] }), 'Failed on 1 host', '0 of 2 hosts, 40 %'],
    [image({ update_available: true }), 'Update available', '3 of 3 hosts'],
    [image({ update_available: true, pinned: true }), 'Update available, pinned', '3 of 3 hosts'],
    [
      image({ hosts: [onHost(1, { state: 'building', progress_pct: null })] }),
      'Fetching on 1 host',
      '0 of 1 host',
    ],
  ])('%#: %s', (of, label, presence) => {
    expect([imageState(of)[1], presenceLabel(of)]).toEqual([label, presence]);
  });
});

describe('the list of images', () => {
  test('shows images in use, newer versions, and the progress of a pull', async () => {
    list();
    const row = (await screen.findByText('Retro games')).closest('tr')!;
    expect(within(row).getByText('Failed on 1 host')).toBeDefined();
    expect(within(row).getByText('1 of 3 hosts, 62 %')).toBeDefined();
    expect(screen.getByText(/3 images in the catalog, 2 installed/)).toBeDefined();
  });

  test('shows the size on one host, not the sum over all hosts', async () => {
    const hosts = [onHost(1, { bytes: 3e9 }), onHost(2, { bytes: 2e9 }), onHost(3, { bytes: null })];
    answers['images.list'] = () => ({ ...imageCatalog, images: [image({ hosts })] });
    list();
    await screen.findByText(bytesLabel(3e9));
  });

  test('the progress of a pull is updated without a reload', async () => {
    let percent = 10;
    answers['images.list'] = () => ({
      ...imageCatalog,
      images: [image({ hosts: [onHost(1, { state: 'pulling', progress_pct: percent, bytes: null })] })],
    });
    list();
    await screen.findByText('0 of 1 host, 10 %');
    percent = 55;
    await screen.findByText('0 of 1 host, 55 %');
  });

  test('a catalog that cannot be fetched keeps the old list and shows the reason', async () => {
    answers['images.sync'] = () => ({ ...imageCatalog, sync_error: 'The server answered 503.' });
    list();
    await press('Fetch the catalog');
    await screen.findByText(/could not be fetched.*The server answered 503\./);
    expect(screen.getByText('Retro games')).toBeDefined();
  });

  test('knows the sentence of the server about a missing repository', () => {
    const file = path.resolve(
      import.meta.dirname,
      '../../../../../control-plane/src/images/registry/catalog-source.ts',
    );
    for (const sentence of SYNC_SENTENCES) expect(readFileSync(file, 'utf8')).toContain(sentence);
  });
});

describe('the page of an image', () => {
  test('shows why a host failed, and the progress of another one', async () => {
    showPage(<ImagePage id="retro" />);
    await screen.findByText(/manifest unknown \(tried three times\)/);
    expect(screen.getByRole('progressbar').getAttribute('value')).toBe('62');
  });

  test('shows the effect of uninstalling in numbers, and its refusal', async () => {
    answers['images.uninstall'] = () =>
      refusal(409, 'provider_enabled', 'Discovery is on, and finds titles in this image.');
    showPage(<ImagePage id="retro" />);
    await screen.findByText('Paint');
    await press('Uninstall');
    await screen.findByText(/It is deleted on 1 host, which frees 734 MB/);
    expect(screen.getByText(/1 app uses it: Paint/)).toBeDefined();
    await screen.findByText(/1 of their sessions continues/);
    await press('Remove it from 1 host');
    await screen.findByText('Discovery is on, and finds titles in this image.');
  });

  test('installs now or at the first launch', async () => {
    showPage(<ImagePage id="steam" />);
    await press('Install');
    expect(await screen.findByText(/3 hosts fetch it now/)).toBeDefined();
    fireEvent.click(screen.getByRole('checkbox'));
    await press('Install for later');
    await waitFor(() => expect(writes).toMatchObject([{ id: 'images.install', body: { lazy: true } }]));
  });

  test('a pinned image is not updated until it is unpinned', async () => {
    showPage(<ImagePage id="desktop" />);
    const update = await screen.findByRole('button', { name: 'Update to 2.1.0' });
    expect((update as HTMLButtonElement).disabled).toBe(true);
    expect(screen.getByText(/stays at 2\.0\.3 until you unpin it/)).toBeDefined();
    await press('Unpin');
    await waitFor(() => expect(writes).toMatchObject([{ id: 'images.unpin' }]));
  });

  test('an image that was removed from the catalog does not exist', async () => {
    showPage(<ImagePage id="gone" />);
    await screen.findByText('It is not here any more');
  });
});
