import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityProblems } from '../../src/browser/accessibility.ts';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { framesShown } from '../../src/browser/picture.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { eventually, PATIENCE_MS } from '../../src/stack/program.ts';
import { PersonSessions } from '../../src/stack/sessions.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';

const images = path.resolve(import.meta.dirname, '../../../test-results');
const MIB = 1024 * 1024;

describe.runIf(process.getuid?.() === 0)('files of a session', () => {
  let stack: Stack;
  let sessions: PersonSessions;
  let browser: Browser;
  let page: Page;
  let id: string;
  let own: string;
  let home: string;

  beforeAll(async () => {
    own = mkdtempSync(path.join(os.tmpdir(), 'files-of-a-person-'));
    stack = await startStack({ agentEnv: { SERVICE_ENCODE_SLOTS: '2', SERVICE_FILE_TRANSFER_MAX_MB: '64' } });
    const { token } = await stack.claim();
    sessions = new PersonSessions(stack, token);
    const app = await sessions.app(
      'Terminal',
      null,
      {},
      {
        managed_home: true,
        runtime_spec: { args: ['xterm', '-e', '/bin/sh', '-c', 'echo mine >$HOME/note.txt; sleep 600'] },
      },
    );
    id = (await sessions.launch(app, { width: 1280, height: 720 })).id;
    await sessions.reaches(id, 'app presented', 60_000);
    browser = await startBrowser();
    page = await browser.newPage();
    await signIn(page, token);
    await page.goto(`${stack.httpsUrl}/app/session/${id}`);
    await eventually(
      'the page shows the session',
      PATIENCE_MS,
      async () => (await framesShown(page)) > 5 || null,
    );
    const homes = path.join(stack.directory, 'agent', 'homes');
    const [note = ''] = readdirSync(homes, { recursive: true, encoding: 'utf8' }).filter((each) =>
      each.endsWith('/note.txt'),
    );
    home = path.join(homes, path.dirname(note));
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await sessions?.close();
    await stack?.stop();
    rmSync(own, { recursive: true, force: true });
  });

  function ownFile(name: string, bytes: number): string {
    const file = path.join(own, name);
    const content = Buffer.alloc(bytes);
    for (let at = 0; at < bytes; at += 4096) content.writeUInt32LE(at, Math.min(at, bytes - 4));
    writeFileSync(file, content);
    return file;
  }

  async function openFiles() {
    await page.mouse.move(640, 300);
    await page.mouse.move(640, 1);
    await page.getByRole('button', { name: 'Files', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Files of this app' });
    await dialog.waitFor();
    return dialog;
  }

  const send = async (...files: string[]) => {
    await openFiles();
    await page.getByLabel('Files to send').setInputFiles(files);
  };
  const panel = () => page.getByRole('region', { name: 'Transfers' });

  test('the app’s files are listed, with the size limit shown before anything is sent', async () => {
    const dialog = await openFiles();
    await dialog.getByText('note.txt').waitFor();
    await dialog.getByText('each can have at most 64 MB').waitFor();
    await page.screenshot({ path: path.join(images, 'session-files.png') });
    await page.keyboard.press('Escape');
  });

  test('chosen files arrive completely in Uploads, owned by the app', async () => {
    const files = [ownFile('small ü.txt', 1_000), ownFile('large.bin', 20 * MIB)];
    await send(...files);
    await page.screenshot({ path: path.join(images, 'session-transfers.png') });
    await panel().getByText('It is in Uploads/large.bin').waitFor();
    for (const file of files) {
      const arrived = path.join(home, 'Uploads', path.basename(file));
      expect(readFileSync(arrived).equals(readFileSync(file)), file).toBe(true);
      expect(statSync(arrived).uid).toBe(statSync(path.join(home, 'note.txt')).uid);
    }
    // The transfer must not stop the picture.
    const before = await framesShown(page);
    await eventually('further frames', PATIENCE_MS, async () => (await framesShown(page)) >= before || null);
  });

  test('a file dropped on the picture arrives too, next to one of the same name', async () => {
    await page.evaluate(() => {
      const target = document.querySelector('[role=application]');
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(['dropped'], 'small ü.txt'));
      for (const type of ['dragover', 'drop'])
        target?.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer }));
    });
    await panel().getByText('It is in Uploads/small ü (2).txt').waitFor();
    expect(readFileSync(path.join(home, 'Uploads', 'small ü (2).txt'), 'utf8')).toBe('dropped');
  });

  test('a file over the limit is refused and the limit is shown; a cancelled one leaves nothing', async () => {
    await send(ownFile('too large.bin', 65 * MIB), ownFile('cancelled.bin', 60 * MIB));
    await panel().getByText('The host accepts files of up to 64 MB.').waitFor();
    await panel().getByRole('button', { name: 'Cancel cancelled.bin' }).click();
    await eventually('nothing half is left', PATIENCE_MS, async () => {
      const left = readdirSync(path.join(home, 'Uploads')).filter((name) =>
        /part$|cancelled|too large/.test(name),
      );
      return left.length === 0 || null;
    });
  });

  test('a file is downloaded, and deleted after a second press', async () => {
    const dialog = await openFiles();
    await dialog.getByRole('button', { name: 'Uploads', exact: true }).click();
    const downloading = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Download large.bin' }).click();
    const got = await (await downloading).path();
    expect(readFileSync(got).equals(readFileSync(path.join(own, 'large.bin')))).toBe(true);
    // The dialog stays open for the next file.
    await dialog.getByRole('button', { name: 'Delete large.bin', exact: true }).click();
    await dialog.getByRole('button', { name: 'Delete large.bin permanently' }).click();
    await eventually(
      'it is gone',
      PATIENCE_MS,
      async () => !existsSync(path.join(home, 'Uploads', 'large.bin')) || null,
    );
    await page.keyboard.press('Escape');
  });

  test('a folder is made, a file gets another name, and two selected files are deleted', async () => {
    const owner = statSync(path.join(home, 'note.txt')).uid;
    const dialog = await openFiles();
    const field = page.getByRole('textbox', { name: 'Name' });
    await dialog.getByRole('button', { name: 'New folder' }).click();
    await field.fill('Old saves');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Old saves', exact: true }).waitFor();
    const made = statSync(path.join(home, 'Old saves'));
    expect([made.isDirectory(), made.uid]).toEqual([true, owner]);

    await dialog.getByRole('button', { name: 'Uploads', exact: true }).click();
    await dialog.getByRole('button', { name: 'Rename small ü.txt', exact: true }).click();
    await field.fill('small ü (2).txt');
    await page.keyboard.press('Enter');
    await page.getByText('This name is taken in this folder.').waitFor();
    expect(readFileSync(path.join(home, 'Uploads', 'small ü (2).txt'), 'utf8')).toBe('dropped');
    await field.fill('letter.txt');
    await page.keyboard.press('Enter');
    await dialog.getByText('letter.txt').waitFor();
    const inUploads = () => readdirSync(path.join(home, 'Uploads')).sort();
    expect(inUploads()).toEqual(['letter.txt', 'small ü (2).txt']);
    const sent = readFileSync(path.join(own, 'small ü.txt'));
    expect(readFileSync(path.join(home, 'Uploads', 'letter.txt')).equals(sent)).toBe(true);

    for (const name of inUploads()) await dialog.getByRole('checkbox', { name: `Select ${name}` }).check();
    await page.screenshot({ path: path.join(images, 'session-files-selected.png') });
    expect(await accessibilityProblems(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Delete 2 items' }).click();
    const question = page.getByRole('dialog', { name: 'Delete 2 items permanently?' });
    await question.getByRole('button', { name: 'Delete 2 items' }).click();
    await dialog.getByText('2 items were deleted.').waitFor();
    expect(inUploads()).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  test('an app with links and pipes gives no access outside its home', async () => {
    const outside = path.join(own, 'outside');
    mkdirSync(outside);
    writeFileSync(path.join(outside, 'secret'), 'secret');
    rmSync(path.join(home, 'Uploads'), { recursive: true });
    symlinkSync(outside, path.join(home, 'Uploads'));
    await send(ownFile('planted.txt', 10));
    await panel().getByText('The host does not allow that.').first().waitFor();
    expect(readdirSync(outside)).toEqual(['secret']);
    rmSync(path.join(home, 'Uploads'));
  });

  test('transfers end when the person leaves the page', async () => {
    await send(ownFile('left.bin', 60 * MIB));
    await page.goto(`${stack.httpsUrl}/app`);
    await eventually('nothing half is left', PATIENCE_MS, async () => {
      const names = existsSync(path.join(home, 'Uploads')) ? readdirSync(path.join(home, 'Uploads')) : [];
      return names.every((name) => !name.endsWith('.part')) || null;
    });
  });
});
