import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { UinputRecord } from '../../../node-agent/src/input/testing/recorded-uinput.ts';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { holdPad, PAD, plugIn } from '../../src/browser/pad.ts';
import { PATIENCE_MS } from '../../src/stack/program.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';
import { closeDialog, join, linkFor, openShareDialog, seesFrames } from '../shared-session.ts';
import { addPattern, watchPattern } from '../watched-pattern.ts';

/** Event type and codes of the buttons that the tests press. Source: linux/input-event-codes.h. */
const EV_KEY = 1;
const [BTN_SOUTH, BTN_EAST, BTN_NORTH] = [0x130, 0x131, 0x133];

/** Two real browsers, each with a simulated gamepad; a file records what the kernel of the host would get. */
describe.runIf(process.getuid?.() === 0)('the gamepads of the owner and of a guest', () => {
  let record: string;
  let stack: Stack;
  let browsers: Browser[] = [];
  let owner: Page;
  let guest: Page;
  let sessionId: string;

  beforeAll(async () => {
    const directory = mkdtempSync('/srv/footlight-uinput-');
    record = path.join(directory, 'record');
    writeFileSync(record, '');
    chmodSync(directory, 0o700);
    stack = await startStack({
      agentPreload: 'node-agent/src/input/testing/recorded-uinput.ts',
      agentEnv: { FOOTLIGHT_TEST_UINPUT: record },
    });
    const { token } = await stack.claim();
    await addPattern(stack, token);
    browsers = [
      await startBrowser({ width: 1280, height: 800 }),
      await startBrowser({ width: 1280, height: 800 }),
    ];
    const [ofOwner, ofGuest] = browsers;
    if (ofOwner === undefined || ofGuest === undefined) throw new Error('no browser');
    ({ page: owner, id: sessionId } = await watchPattern(stack, ofOwner, token));
    await plugIn(owner);
    await owner.reload();
    await seesFrames(owner);
    guest = await ofGuest.newPage();
    await plugIn(guest);
  });
  afterAll(async () => {
    for (const browser of browsers) await browser.close();
    await stack?.stop();
    if (record !== undefined) rmSync(path.dirname(record), { recursive: true, force: true });
  });

  const records = (index: number): UinputRecord[] =>
    readFileSync(record, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as UinputRecord)
      .filter(({ phys }) => phys === `footlight/${sessionId}/pad${index}`);
  /** Codes of the pressed buttons of a pad; null: the host has no such pad. */
  function pressed(index: number): number[] | null {
    let now: Set<number> | null = null;
    for (const { kind, events } of records(index)) {
      if (kind === 'created') now = new Set();
      else if (kind === 'removed') now = null;
      for (const { type, code, value } of events) {
        if (type !== EV_KEY) continue;
        if (value === 0) now?.delete(code);
        else now?.add(code);
      }
    }
    return now === null ? null : [...now].sort();
  }
  /** Codes of all buttons that a pad has had. */
  const everPressed = (index: number) =>
    new Set(
      records(index).flatMap(({ events }) =>
        events.flatMap(({ type, code, value }) => (type === EV_KEY && value !== 0 ? [code] : [])),
      ),
    );
  const becomes = (index: number, buttons: number[] | null) =>
    expect.poll(() => pressed(index), { timeout: PATIENCE_MS }).toEqual(buttons);

  test('do not mix, and the guest uses the one of the link', async () => {
    await openShareDialog(owner);
    const link = await linkFor(owner, 'One gamepad');
    await closeDialog(owner);
    await join(guest, link, 'Ada');
    await holdPad(guest, PAD.circle, true);
    await becomes(1, [BTN_EAST]);
    await holdPad(owner, PAD.cross, true);
    await becomes(0, [BTN_SOUTH]);
    expect(pressed(1)).toEqual([BTN_EAST]);
    await holdPad(owner, PAD.square, true);
    await becomes(0, [BTN_SOUTH, BTN_NORTH]);
    for (const button of [PAD.cross, PAD.square]) await holdPad(owner, button, false);
    await becomes(0, []);
    expect(pressed(1)).toEqual([BTN_EAST]);
    expect(everPressed(0)).toEqual(new Set([BTN_SOUTH, BTN_NORTH]));
    expect(everPressed(1)).toEqual(new Set([BTN_EAST]));
    expect([2, 3].map((index) => records(index))).toEqual([[], []]);
  });

  test('a removed guest presses nothing any more', async () => {
    await openShareDialog(owner);
    await owner.getByRole('button', { name: 'Remove Ada' }).click();
    await guest.getByText('Your visit is over').waitFor();
    await expect
      .poll(() => pressed(1) ?? [], { message: 'the buttons are released', timeout: PATIENCE_MS })
      .toEqual([]);
    await closeDialog(owner);
    const before = records(1).length;
    await holdPad(guest, PAD.cross, true);
    // A press of the owner shows that the guest's press would have arrived by now.
    await holdPad(owner, PAD.square, true);
    await becomes(0, [BTN_NORTH]);
    const later = records(1).slice(before);
    expect(later.filter(({ kind }) => kind === 'events')).toEqual([]);
  });
});
