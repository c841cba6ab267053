import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityProblems } from '../../src/browser/accessibility.ts';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { framesShown } from '../../src/browser/picture.ts';
import { eventually, PATIENCE_MS } from '../../src/stack/program.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';
import { fieldBecomes, KEY_FIELD, revealBar } from '../diagnostics-picture.ts';
import { addPattern, watchPattern } from '../watched-pattern.ts';

/** Two real browsers: the owner of a session, and guests without an account. */
describe.runIf(process.getuid?.() === 0)('a session is shared', () => {
  let stack: Stack;
  let ownerBrowser: Browser;
  let guestBrowser: Browser;
  let owner: Page;
  let guest: Page;

  beforeAll(async () => {
    stack = await startStack();
    const { token } = await stack.claim();
    await addPattern(stack, token);
    ownerBrowser = await startBrowser({ width: 1280, height: 800 });
    guestBrowser = await startBrowser({ width: 390, height: 844 }, { touch: true });
    owner = (await watchPattern(stack, ownerBrowser, token)).page;
    guest = await guestBrowser.newPage();
  });
  afterAll(async () => {
    await guestBrowser?.close();
    await ownerBrowser?.close();
    await stack?.stop();
  });

  const bar = (page: Page) => page.getByRole('toolbar', { name: 'Controls' });
  async function openDialog(): Promise<void> {
    await owner.mouse.move(640, 400);
    await owner.mouse.move(640, 1);
    await bar(owner).getByRole('button', { name: 'More' }).click();
    await owner.getByRole('button', { name: 'Share with a guest' }).click();
    await owner.getByRole('button', { name: 'Make a link' }).waitFor();
  }
  const closeDialog = () => owner.getByRole('button', { name: 'Close' }).click();
  /** Makes a link for a role in the open dialog. @returns its address */
  async function linkFor(role: string): Promise<string> {
    await owner.getByRole('button', { name: role }).click();
    const field = owner.getByRole('textbox', { name: 'Link for the guest' });
    const before = (await field.count()) === 0 ? '' : await field.inputValue();
    await owner.getByRole('button', { name: 'Make a link' }).click();
    return eventually('a new link', PATIENCE_MS, async () => {
      const value = (await field.count()) === 0 ? '' : await field.inputValue();
      return value !== '' && value !== before ? value : null;
    });
  }
  async function join(link: string, name: string): Promise<void> {
    await guest.goto('about:blank');
    await guest.goto(link);
    await guest.getByLabel('Your name').fill(name);
    await guest.getByRole('button', { name: 'Join' }).click();
    await seesFrames(guest);
  }
  const seesFrames = async (page: Page) => {
    const before = await framesShown(page);
    await eventually('more frames', PATIENCE_MS, async () => (await framesShown(page)) > before + 5 || null);
  };

  test('a guest who watches sees the picture, the owner sees the name, and keys have no effect', async () => {
    await openDialog();
    expect(await accessibilityProblems(owner)).toEqual([]);
    const link = await linkFor('Watch only');
    expect(new URL(link).hash).toMatch(/^#[0-9a-f]{64}$/);
    await guest.goto(link);
    await guest.getByLabel('Your name').waitFor();
    expect(await accessibilityProblems(guest)).toEqual([]);
    await join(link, 'Ada');
    await owner.getByText('is here').waitFor();
    await owner.getByRole('button', { name: 'Remove Ada' }).waitFor();
    await closeDialog();
    await revealBar(owner);
    await bar(owner).getByRole('button', { name: 'Ada is watching; show the guests' }).waitFor();
    await Promise.all([seesFrames(owner), seesFrames(guest)]);
    // A key of the owner shows that keys of the guest would have been applied by now.
    await guest.keyboard.press('KeyG');
    await owner.mouse.move(640, 500);
    await owner.keyboard.press('KeyX');
    await fieldBecomes(guest, KEY_FIELD, 1);
  });

  test('a guest with full control types into the app, until the owner removes the guest', async () => {
    await openDialog();
    const link = await linkFor('Full control');
    await closeDialog();
    await join(link, 'Bob');
    await guest.keyboard.press('KeyB');
    await fieldBecomes(owner, KEY_FIELD, 2);
    await openDialog();
    await owner.getByRole('button', { name: 'Remove Bob' }).click();
    await guest.getByText('Your visit is over').waitFor();
    await owner.getByRole('button', { name: 'Remove Bob' }).waitFor({ state: 'detached' });
    await closeDialog();
    await guest.reload();
    await guest.getByLabel('Your name').fill('Bob');
    await guest.getByRole('button', { name: 'Join' }).click();
    await guest.getByText('This link does not work any more').waitFor();
    await seesFrames(owner);
  });
});
