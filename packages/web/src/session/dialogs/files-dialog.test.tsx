// @vitest-environment happy-dom
import type { FileEntry } from '@footlight/protocol/files';
import { MantineProvider } from '@mantine/core';
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import type { FileTransfers } from '../files/file-transfers.ts';
import FilesDialog from './files-dialog.tsx';

afterEach(cleanup);

const file = (name: string): FileEntry => ({ name, kind: 'file', size: 3, mtime_ms: 0 });
const folder = (name: string): FileEntry => ({ name, kind: 'folder', size: 0, mtime_ms: 0 });

/** Shows the dialog with these folders; listing any other folder is refused. */
function show(folders: Record<string, FileEntry[]>) {
  const deleted: string[] = [];
  const files = {
    list: vi.fn(async (path: string) => {
      const entries = folders[path];
      if (entries === undefined) throw new Error('The host does not allow that.');
      return { entries, truncated: false };
    }),
    delete: vi.fn(async (path: string) => void deleted.push(path)),
    fetch: vi.fn(),
  };
  const onClose = vi.fn();
  render(
    <MantineProvider>
      <FilesDialog onClose={onClose} files={files as unknown as FileTransfers} maxFileMb={1} />
    </MantineProvider>,
  );
  return { deleted, fetched: files.fetch, onClose };
}
const press = async (name: string) => fireEvent.click(await screen.findByRole('button', { name }));

test('a file is deleted in the shown folder, after a second press', async () => {
  const { deleted } = show({ '': [folder('Saves')], Saves: [file('one')] });
  await press('Saves');
  await press('Delete one');
  expect(deleted).toEqual([]);
  await press('Delete one permanently');
  expect(deleted).toEqual(['Saves/one']);
});

test('the dialog stays open after a download, for the next file', async () => {
  const { fetched, onClose } = show({ '': [file('one'), file('two')] });
  await press('Download one');
  await screen.findByText(/^one is being downloaded/);
  await press('Download two');
  await screen.findByText(/^two is being downloaded/);
  expect(fetched.mock.calls).toEqual([
    ['one', 3],
    ['two', 3],
  ]);
  expect(onClose).not.toHaveBeenCalled();
});

test('a folder that cannot be listed shows no entries of another folder', async () => {
  show({ '': [folder('closed'), file('letter')] });
  await press('closed');
  await screen.findByText('The host does not allow that.');
  expect(screen.getByRole('heading', { name: 'closed' })).toBeDefined();
  expect(screen.queryByRole('button', { name: 'Delete letter' })).toBeNull();
  await press('Folder above');
  await screen.findByRole('button', { name: 'Delete letter' });
  expect(screen.queryByRole('alert')).toBeNull();
});
