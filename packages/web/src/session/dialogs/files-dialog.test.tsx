// @vitest-environment happy-dom
import type { FileEntry } from '@footlight/protocol/files';
import { MantineProvider } from '@mantine/core';
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import type { FileTransfers } from '../files/file-transfers.ts';
import FilesDialog from './files-dialog.tsx';

afterEach(cleanup);

const file = (name: string): FileEntry => ({ name, kind: 'file', size: 3, mtime_ms: 0 });
const folder = (name: string): FileEntry => ({ name, kind: 'folder', size: 0, mtime_ms: 0 });

/** Shows the dialog with these folders; listing any other folder is refused. */
function show(folders: Record<string, FileEntry[]>, canRename = true) {
  const deleted: string[] = [];
  /** refusals by path */
  const refused = new Map<string, string>();
  const refuse = (path: string) => {
    const reason = refused.get(path);
    if (reason !== undefined) throw new Error(reason);
  };
  const files = {
    list: vi.fn(async (path: string) => {
      const entries = folders[path];
      if (entries === undefined) throw new Error('The host does not allow that.');
      return { entries, truncated: false };
    }),
    delete: vi.fn(async (path: string) => void deleted.push(path)),
    deleteAll: vi.fn(async (paths: string[]) => {
      for (const path of paths) {
        if (refused.has(path)) continue;
        deleted.push(path);
        for (const [folder, entries] of Object.entries(folders))
          folders[folder] = entries.filter(
            ({ name }) => path !== (folder === '' ? name : `${folder}/${name}`),
          );
      }
      return new Map([...refused].filter(([path]) => paths.includes(path)));
    }),
    rename: vi.fn(async (path: string, name: string) => {
      refuse(name);
      const slash = path.lastIndexOf('/');
      const entries = folders[path.slice(0, Math.max(0, slash))] ?? [];
      const entry = entries.find((each) => each.name === path.slice(slash + 1));
      if (entry !== undefined) entries[entries.indexOf(entry)] = { ...entry, name };
    }),
    makeFolder: vi.fn(async (parent: string, name: string) => {
      refuse(name);
      folders[parent]?.push(folder(name));
    }),
    fetch: vi.fn(),
  };
  const onClose = vi.fn();
  render(
    <MantineProvider>
      <FilesDialog
        onClose={onClose}
        files={files as unknown as FileTransfers}
        maxFileMb={1}
        canRename={canRename}
      />
    </MantineProvider>,
  );
  return { ...files, deleted, refused, fetched: files.fetch, onClose };
}
const press = async (name: string) => fireEvent.click(await screen.findByRole('button', { name }));
const tick = async (name: string) => fireEvent.click(await screen.findByRole('checkbox', { name }));
/** Types a name into the open dialog, and presses Enter. */
const name = (text: string) => {
  const field = screen.getByRole('textbox', { name: 'Name' });
  fireEvent.change(field, { target: { value: text } });
  fireEvent.submit(field);
};

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

test('a new name is saved with Enter, and the focus stays at the row', async () => {
  const { rename } = show({ '': [folder('Saves')], Saves: [file('one.txt'), file('two')] });
  await press('Saves');
  await press('Rename one.txt');
  const field = screen.getByRole<HTMLInputElement>('textbox', { name: 'Name' });
  expect([field.value, field.selectionStart, field.selectionEnd]).toEqual(['one.txt', 0, 3]);
  name(' three.txt ');
  await waitFor(() =>
    expect(document.activeElement).toBe(screen.getByRole('button', { name: 'Rename three.txt' })),
  );
  expect(rename.mock.calls).toEqual([['Saves/one.txt', 'three.txt']]);
  expect(screen.queryByRole('textbox')).toBeNull();
});

test('a refused name stays in the field, with the reason next to it', async () => {
  const { refused } = show({ '': [file('one'), file('two')] });
  refused.set('two', 'This name is taken in this folder.');
  await press('Rename one');
  name('two');
  expect((await screen.findByRole('alert')).textContent).toBe('This name is taken in this folder.');
  const field = screen.getByRole<HTMLInputElement>('textbox', { name: 'Name' });
  expect([field.value, field.getAttribute('aria-invalid')]).toEqual(['two', 'true']);
  name('three');
  await screen.findByRole('button', { name: 'Rename three' });
});

test('the same name, an empty one and Cancel send nothing', async () => {
  const { rename } = show({ '': [file('one')] });
  await press('Rename one');
  name('  ');
  expect(screen.getByRole('textbox')).toBeDefined();
  name('one');
  expect(screen.queryByRole('textbox')).toBeNull();
  await press('Rename one');
  await press('Cancel');
  expect(screen.queryByRole('textbox')).toBeNull();
  expect(rename).not.toHaveBeenCalled();
});

test('a folder is made in the shown folder', async () => {
  const { makeFolder } = show({ '': [folder('Saves')], Saves: [] });
  await press('Saves');
  await press('New folder');
  name('old');
  await screen.findByRole('button', { name: 'old' });
  expect(makeFolder.mock.calls).toEqual([['Saves', 'old']]);
});

test('an older host offers no new names', async () => {
  show({ '': [file('one')] }, false);
  await screen.findByRole('button', { name: 'Delete one' });
  expect(screen.queryByRole('button', { name: 'Rename one' })).toBeNull();
  expect(screen.queryByRole('button', { name: 'New folder' })).toBeNull();
});

test('selected files are downloaded; folders are not', async () => {
  const { fetched } = show({ '': [folder('Saves'), file('one'), file('two'), file('three')] });
  for (const each of ['Saves', 'one', 'three']) await tick(`Select ${each}`);
  expect(screen.getByRole<HTMLInputElement>('checkbox', { name: 'Select all' }).indeterminate).toBe(true);
  await press('Download 2 files');
  expect(fetched.mock.calls).toEqual([
    ['one', 3],
    ['three', 3],
  ]);
  await screen.findByText(/^2 files are being downloaded/);
  expect(screen.queryByRole('button', { name: 'Download 2 files' })).toBeNull();
});

test('selected items are deleted after one question with their number', async () => {
  const { deleted } = show({ '': [folder('empty'), file('one'), file('two')] });
  await tick('Select all');
  await tick('Select two');
  await press('Delete 2 items');
  expect(deleted).toEqual([]);
  const question = screen.getByRole('dialog', { name: 'Delete 2 items permanently?' });
  fireEvent.click(within(question).getByRole('button', { name: 'Delete 2 items' }));
  await screen.findByText('2 items were deleted.');
  expect(deleted).toEqual(['empty', 'one']);
  await waitFor(() =>
    expect(document.activeElement).toBe(screen.getByRole('heading', { name: 'Your files' })),
  );
  expect(screen.queryByRole('button', { name: 'Rename one' })).toBeNull();
});

test('of several items, each that stays is named with the reason, and stays selected', async () => {
  const { refused } = show({ '': [folder('full'), file('one'), file('two')] });
  refused.set('full', 'The host does not allow that.').set('two', 'It is not there any more.');
  await tick('Select all');
  await press('Delete 3 items');
  const question = screen.getByRole('dialog', { name: 'Delete 3 items permanently?' });
  fireEvent.click(within(question).getByRole('button', { name: 'Delete 3 items' }));
  const problem = await screen.findByRole('alert');
  expect(within(problem).getByText('2 items could not be deleted:')).toBeDefined();
  expect(
    within(problem)
      .getAllByRole('listitem')
      .map(({ textContent }) => textContent),
  ).toEqual(['full: The host does not allow that.', 'two: It is not there any more.']);
  await press('Delete 2 items');
});

test('a selection ends with its folder', async () => {
  show({ '': [folder('Saves'), file('one')], Saves: [file('one')] });
  await tick('Select one');
  await press('Saves');
  await screen.findByRole('heading', { name: 'Saves' });
  expect((await screen.findByRole<HTMLInputElement>('checkbox', { name: 'Select one' })).checked).toBe(false);
});

test('hidden files are shown, selected and counted only on request', async () => {
  show({ '': [file('.bashrc'), file('one')] });
  expect(await screen.findByText('one')).toBeDefined();
  expect(screen.queryByText('.bashrc')).toBeNull();
  await tick('Select all');
  expect(screen.getByRole('button', { name: 'Delete 1 item' })).toBeDefined();
  await tick('Show hidden files');
  expect(screen.getByText('.bashrc')).toBeDefined();
  expect(screen.getByRole<HTMLInputElement>('checkbox', { name: 'Select .bashrc' }).checked).toBe(false);
});

test('a folder with only hidden files says so', async () => {
  show({ '': [folder('.cache')] });
  expect(await screen.findByText('Only hidden files are in this folder.')).toBeDefined();
});
