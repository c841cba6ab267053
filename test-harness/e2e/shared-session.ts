import type { Page } from 'playwright-core';
import { framesShown } from '../src/browser/picture.ts';
import { eventually, PATIENCE_MS } from '../src/stack/program.ts';

/** The controls at the top of a session's page. */
export const bar = (page: Page) => page.getByRole('toolbar', { name: 'Controls' });

/** Opens the dialog in which the owner of a session makes links for guests. */
export async function openShareDialog(owner: Page): Promise<void> {
  await owner.mouse.move(640, 400);
  await owner.mouse.move(640, 1);
  await bar(owner).getByRole('button', { name: 'More' }).click();
  await owner.getByRole('button', { name: 'Share with a guest' }).click();
  await owner.getByRole('button', { name: 'Make a link' }).waitFor();
}

export const closeDialog = (owner: Page) => owner.getByRole('button', { name: 'Close' }).click();

/** Makes a link for a role in the open dialog. @returns its address */
export async function linkFor(owner: Page, role: string): Promise<string> {
  await owner.getByRole('button', { name: role }).click();
  const field = owner.getByRole('textbox', { name: 'Link for the guest' });
  const before = (await field.count()) === 0 ? '' : await field.inputValue();
  await owner.getByRole('button', { name: 'Make a link' }).click();
  return eventually('a new link', PATIENCE_MS, async () => {
    const value = (await field.count()) === 0 ? '' : await field.inputValue();
    return value !== '' && value !== before ? value : null;
  });
}

/** Opens a link as a guest, and waits for the picture. */
export async function join(guest: Page, link: string, name: string): Promise<void> {
  await guest.goto('about:blank');
  await guest.goto(link);
  await guest.getByLabel('Your name').fill(name);
  await guest.getByRole('button', { name: 'Join' }).click();
  await seesFrames(guest);
}

export async function seesFrames(page: Page): Promise<void> {
  const before = await framesShown(page);
  await eventually('more frames', PATIENCE_MS, async () => (await framesShown(page)) > before + 5 || null);
}
