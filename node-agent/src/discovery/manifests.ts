/** Parses Steam's files about titles and library folders. Pure; never throws. */
import { cutUtf8, stripControls } from '@footlight/protocol';
import { MAX_INSTALL_DIR_BYTES, MAX_TITLE_BYTES, type ScanEntry } from '@footlight/protocol/agent';
import { blockOf, membersOf, parseVdf, textOf } from './vdf.ts';

const MANIFEST_NAME = /^appmanifest_([1-9][0-9]{0,9})\.acf$/;

/** Returns the id of a title from the name of its manifest; null: the file is not a manifest. */
export const manifestId = (fileName: string): string | null => MANIFEST_NAME.exec(fileName)?.[1] ?? null;

/** The entry of a title whose manifest cannot be read, so that only its id is known. */
export const bareEntry = (id: string): ScanEntry => ({
  external_id: id,
  name: '',
  install_dir: '',
  size_on_disk: 0,
  state_flags: 0,
});

/**
 * @param id from the name of the file
 * @param text of the manifest; null: the file could not be read
 */
export function readManifest(id: string, text: string | null): ScanEntry {
  const root = text === null ? null : parseVdf(text);
  const state = root && blockOf(root, 'appstate');
  // A manifest with another id contains no information about this title.
  if (!state || textOf(state, 'appid') !== id) return bareEntry(id);
  return {
    external_id: id,
    name: cutUtf8(stripControls(textOf(state, 'name') ?? '').trim(), MAX_TITLE_BYTES),
    install_dir: cutUtf8(stripControls(textOf(state, 'installdir') ?? ''), MAX_INSTALL_DIR_BYTES),
    size_on_disk: wholeNumber(textOf(state, 'sizeondisk')),
    state_flags: wholeNumber(textOf(state, 'stateflags')),
  };
}

/** Parses a whole number; returns 0 if the text is not a safe integer. */
function wholeNumber(text: string | null): number {
  const value = text !== null && /^[0-9]{1,16}$/.test(text) ? Number(text) : 0;
  return Number.isSafeInteger(value) ? value : 0;
}

/**
 * Folders of libraries in `libraryfolders.vdf`, as the app sees them. In older files, a library is a path instead of a
 * block.
 * @returns null: the file cannot be read
 */
export function readLibraryFolders(text: string): string[] | null {
  const root = parseVdf(text);
  const folders = root && blockOf(root, 'libraryfolders');
  if (!folders) return null;
  return membersOf(folders).flatMap(([key, value]) => {
    if (!/^[0-9]{1,4}$/.test(key)) return [];
    const path = typeof value === 'string' ? value : textOf(value, 'path');
    return path === null ? [] : [path];
  });
}
