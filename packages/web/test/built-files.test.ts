import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { constants, gzipSync } from 'node:zlib';
import { operations } from '@footlight/protocol/rest';
import type { Manifest } from 'vite';
import { beforeAll, describe, expect, test } from 'vitest';
import { buildWeb } from '../../../scripts/lib/prepare.mjs';

/** Budget of script and styles of a page for users, gzip. Library and session have budgets of their own. */
const USER_PAGE_KB = 180;
/**
 * Budget of script and styles that the session page, with the keyboard and the bar, adds to those of the library, KiB.
 */
const SESSION_ADDS_KIB = 80;
const PLAYER_KB = 55;
/** Budgets of compressed script, KiB, for the pages that people open first. */
const LOGIN_SCRIPT_KIB = 120;
const LIBRARY_SCRIPT_KIB = 170;
const dist = resolve(import.meta.dirname, '../dist');
let manifest: Manifest;

beforeAll(async () => {
  buildWeb();
  manifest = JSON.parse(await readFile(join(dist, '.vite/manifest.json'), 'utf8')) as Manifest;
});

/** Files that are loaded with the given manifest entries; dynamic imports are followed only on request. */
function filesOf(entries: readonly string[], follow: (key: string) => boolean = () => false): Set<string> {
  const files = new Set<string>();
  const seen = new Set<string>();
  const visit = (key: string) => {
    const chunk = manifest[key];
    if (chunk === undefined || seen.has(key)) return;
    seen.add(key);
    files.add(chunk.file);
    for (const css of chunk.css ?? []) files.add(css);
    for (const next of chunk.imports ?? []) visit(next);
    for (const next of chunk.dynamicImports ?? []) if (follow(next)) visit(next);
  };
  for (const entry of entries) visit(entry);
  return files;
}

async function gzipKb(files: Iterable<string>): Promise<number> {
  const sizes = await Promise.all(
    [...files].map(
      async (file) =>
        gzipSync(await readFile(join(dist, file)), { level: constants.Z_BEST_COMPRESSION }).length,
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0) / 1000;
}

/** Compressed size of the scripts in a set of files. */
const scriptKib = async (files: Iterable<string>) =>
  ((await gzipKb([...files].filter((file) => file.endsWith('.js')))) * 1000) / 1024;

/** The frame of the administrators' pages is in their shared file. */
const isAdminPage = (key: string) => /src\/routes\/admin[./]|^_admin-shared-/.test(key);
const SESSION = 'src/routes/app/session.$id.tsx?tsr-split=component';
const LIBRARY = 'src/routes/app/_shell.index.tsx?tsr-split=component';

describe('the built web app', () => {
  test(`every other page of the user area, styles included, takes at most ${USER_PAGE_KB} kB gzip`, async () => {
    const pages = Object.keys(manifest).filter((key) => key.startsWith('src/routes/') && !isAdminPage(key));
    expect(pages.length).toBeGreaterThan(5);
    for (const page of pages.filter((key) => key !== SESSION && key !== LIBRARY)) {
      expect(await gzipKb(filesOf(['index.html', page])), page).toBeLessThanOrEqual(USER_PAGE_KB);
    }
  });

  test(`the session page adds at most ${SESSION_ADDS_KIB} KiB to the library`, async () => {
    const library = filesOf(['index.html', LIBRARY]);
    const added = [...filesOf(['index.html', SESSION])].filter((file) => !library.has(file));
    expect(((await gzipKb(added)) * 1000) / 1024).toBeLessThanOrEqual(SESSION_ADDS_KIB);
  });

  test(`the login takes at most ${LOGIN_SCRIPT_KIB} KiB of script, the library ${LIBRARY_SCRIPT_KIB} KiB`, async () => {
    expect(await scriptKib(filesOf(['sign-in/index.html']))).toBeLessThanOrEqual(LOGIN_SCRIPT_KIB);
    expect(await scriptKib(filesOf(['index.html', LIBRARY]))).toBeLessThanOrEqual(LIBRARY_SCRIPT_KIB);
  });

  test('another language is a separate file, which no other file imports', () => {
    const german = manifest['src/i18n/de.po']?.file ?? '';
    expect(german).toMatch(/^assets\/.*\.js$/);
    for (const document of ['index.html', 'sign-in/index.html'])
      expect(filesOf([document, LIBRARY])).not.toContain(german);
  });

  test('a page consists of few files, and the library’s document preloads all of its files', async () => {
    const library = filesOf(['index.html', LIBRARY]);
    expect(library.size).toBeLessThanOrEqual(7);
    const html = await readFile(join(dist, 'index.html'), 'utf8');
    for (const file of library) expect(html).toContain(`"/${file}"`);
    for (const page of Object.keys(manifest).filter((key) => key.startsWith('src/routes/'))) {
      const document = isAdminPage(page) ? 'admin/index.html' : 'index.html';
      expect(filesOf([document, page]).size, page).toBeLessThanOrEqual(13);
    }
  });

  test(`the player in addition takes at most ${PLAYER_KB} kB gzip`, async () => {
    const base = filesOf(['index.html', SESSION]);
    const player = [...filesOf(['../stream-client/src/index.ts'])].filter((file) => !base.has(file));
    expect(player.length).toBeGreaterThan(0);
    expect(await gzipKb(player)).toBeLessThanOrEqual(PLAYER_KB);
  });

  test('no file that a user page loads is behind the gate of the admin area', () => {
    const files = filesOf(['index.html'], (key) => !isAdminPage(key));
    expect([...files].filter((file) => file.startsWith('admin/'))).toEqual([]);
  });

  test('no file that a user page loads contains an operation of administrators', async () => {
    const files = filesOf(['index.html'], (key) => !isAdminPage(key));
    const texts = await Promise.all([...files].map((file) => readFile(join(dist, file), 'utf8')));
    const all = Object.values(operations);
    const pathsOfUsers = new Set(all.filter(({ auth }) => auth !== 'admin').map(({ path }) => path));
    const paths = all.map(({ path }) => path).filter((path) => !pathsOfUsers.has(path));
    expect(paths.length).toBeGreaterThan(50);
    expect(
      paths.filter((path) =>
        texts.some((text) => text.includes(`"${path}"`) || text.includes(`\`${path}\``)),
      ),
    ).toEqual([]);
  });

  test('every admin page and its styles are behind the gate', () => {
    const pages = Object.entries(manifest).filter(([key]) => isAdminPage(key));
    expect(pages.length).toBeGreaterThan(5);
    for (const [key, page] of pages) {
      expect(page.file, key).toMatch(/^admin\/assets\//);
      for (const css of page.css ?? []) expect(css, key).toMatch(/^admin\/assets\//);
    }
  });

  test('no two files import each other, because the first to run would find the other empty', () => {
    const importsOf = (key: string) => manifest[key]?.imports ?? [];
    const reach = (from: string) => {
      const seen = new Set<string>();
      const queue = [...importsOf(from)];
      for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
        if (seen.has(at)) continue;
        seen.add(at);
        queue.push(...importsOf(at));
      }
      return seen;
    };
    expect(Object.keys(manifest).filter((key) => reach(key).has(key))).toEqual([]);
  });

  test.each(['index.html', 'sign-in/index.html', 'admin/index.html'])(
    '%s has no inline script or style and loads only own files',
    async (name) => {
      const html = await readFile(join(dist, name), 'utf8');
      expect(html).not.toMatch(/<style|style=|<script(?![^>]*\bsrc=)|\son\w+=/i);
      const addresses = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
      expect(addresses.length).toBeGreaterThan(2);
      for (const address of addresses) {
        expect(address).toMatch(
          name !== 'admin/index.html'
            ? /^\/(assets\/|icon\.svg|apple-touch-icon\.png|manifest\.)/
            : /^\/((admin\/)?assets\/|icon\.svg|apple-touch-icon\.png|manifest\.)/,
        );
      }
    },
  );

  test('a phone can install the app: each icon of the manifest exists and has its stated size', async () => {
    const text = await readFile(join(dist, 'manifest.webmanifest'), 'utf8');
    const { icons } = JSON.parse(text) as { icons: { src: string; sizes: string; type: string }[] };
    const pictures = icons.filter(({ type }) => type === 'image/png');
    expect(pictures.map(({ sizes }) => sizes)).toEqual(['192x192', '512x512', '512x512']);
    for (const { src, sizes } of pictures) {
      // Width and height in a PNG file are two numbers of 4 bytes after the first 16 bytes.
      const bytes = await readFile(join(dist, src));
      expect(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`, src).toBe(sizes);
    }
  });
});
