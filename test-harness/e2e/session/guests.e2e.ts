import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityProblems } from '../../src/browser/accessibility.ts';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';
import { fieldBecomes, KEY_FIELD, revealBar } from '../diagnostics-picture.ts';
import { bar, closeDialog, join, linkFor, openShareDialog, seesFrames } from '../shared-session.ts';
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

  test('a guest who watches sees the picture, the owner sees the name, and keys have no effect', async () => {
    await openShareDialog(owner);
    expect(await accessibilityProblems(owner)).toEqual([]);
    const link = await linkFor(owner, 'Watch only');
    expect(new URL(link).hash).toMatch(/^#[0-9a-f]{64}$/);
    await guest.goto(link);
    await guest.getByLabel('Your name').waitFor();
    expect(await accessibilityProblems(guest)).toEqual([]);
    await join(guest, link, 'Ada');
    await owner.getByText('is here').waitFor();
    await owner.getByRole('button', { name: 'Remove Ada' }).waitFor();
    await closeDialog(owner);
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
    await openShareDialog(owner);
    const link = await linkFor(owner, 'Full control');
    await closeDialog(owner);
    await join(guest, link, 'Bob');
    await guest.keyboard.press('KeyB');
    await fieldBecomes(owner, KEY_FIELD, 2);
    await openShareDialog(owner);
    await owner.getByRole('button', { name: 'Remove Bob' }).click();
    await guest.getByText('Your visit is over').waitFor();
    await owner.getByRole('button', { name: 'Remove Bob' }).waitFor({ state: 'detached' });
    await closeDialog(owner);
    await guest.reload();
    await guest.getByLabel('Your name').fill('Bob');
    await guest.getByRole('button', { name: 'Join' }).click();
    await guest.getByText('This link does not work any more').waitFor();
    await seesFrames(owner);
  });
});
