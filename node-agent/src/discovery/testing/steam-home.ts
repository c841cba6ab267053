import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ScanTask } from '@footlight/protocol/agent';

/** Text of a manifest as Steam writes it. */
export function manifestText(id: number | string, name = `Title ${id}`, stateFlags = 4): string {
  return [
    '"AppState"',
    '{',
    `\t"appid"\t\t"${id}"`,
    '\t"universe"\t\t"1"',
    `\t"name"\t\t"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`,
    `\t"StateFlags"\t\t"${stateFlags}"`,
    `\t"installdir"\t\t"Title ${id}"`,
    '\t"LastOwner"\t\t"76561197960287930"',
    '\t"SizeOnDisk"\t\t"26843545600"',
    '\t"InstalledDepots"',
    '\t{',
    `\t\t"${id}1"`,
    '\t\t{',
    '\t\t\t"manifest"\t\t"7442302451284914303"',
    '\t\t\t"size"\t\t"26843545600"',
    '\t\t}',
    '\t}',
    '}',
    '',
  ].join('\n');
}

/** Text of `libraryfolders.vdf` as Steam writes it. */
export function libraryFoldersText(paths: readonly string[]): string {
  const folders = paths.map((path, at) =>
    [`\t"${at}"`, '\t{', `\t\t"path"\t\t"${path}"`, '\t\t"apps"', '\t\t{', '\t\t}', '\t}'].join('\n'),
  );
  return ['"libraryfolders"', '{', ...folders, '}', ''].join('\n');
}

/** A home in a temporary folder, as an app sees it below /home/service. */
export interface SteamHome {
  readonly root: string;
  readonly task: ScanTask;
  /** Folder with the manifests of the home's own library. */
  readonly steamapps: string;
  /** Writes a file below the home and creates its missing folders. */
  write(path: string, text: string | Buffer): void;
  addTitle(id: number | string, name?: string, stateFlags?: number, library?: string): void;
  remove(): void;
}

export const CONTAINER_PATH = '/home/service';
export const STEAM = '.local/share/Steam';

/** @param parent an existing folder; default: a temporary one */
export function makeSteamHome(parent?: string): SteamHome {
  const root = mkdtempSync(join(parent ?? tmpdir(), 'footlight-home-'));
  mkdirSync(join(root, STEAM, 'steamapps'), { recursive: true });
  const home: SteamHome = {
    root,
    steamapps: join(root, STEAM, 'steamapps'),
    task: {
      scan_id: '11111111-1111-4111-8111-111111111111',
      root_path: root,
      container_path: CONTAINER_PATH,
      relative_roots: [`${STEAM}/steamapps`, '.steam/steam/steamapps'],
      max_entries: 10_000,
      max_manifest_bytes: 1024 * 1024,
    },
    write(path, text) {
      const file = join(root, path);
      mkdirSync(join(file, '..'), { recursive: true });
      writeFileSync(file, text);
    },
    addTitle: (id, name, stateFlags, library = STEAM) =>
      home.write(`${library}/steamapps/appmanifest_${id}.acf`, manifestText(id, name, stateFlags)),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
  return home;
}

/** Creates a home with titles in three libraries. @param titles number of titles */
export function makeLargeSteamHome(titles: number, parent?: string): SteamHome {
  const home = makeSteamHome(parent);
  const libraries = [STEAM, 'games', 'more games'];
  home.write(
    `${STEAM}/steamapps/libraryfolders.vdf`,
    libraryFoldersText(libraries.map((library) => `${CONTAINER_PATH}/${library}`)),
  );
  for (let n = 0; n < titles; n += 1)
    home.addTitle(1000 + n, undefined, undefined, libraries[n % libraries.length]);
  return home;
}
