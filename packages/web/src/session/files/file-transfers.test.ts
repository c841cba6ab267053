// @vitest-environment happy-dom
import { ManualClock } from '@footlight/platform/testing';
import { encodeChunk, parseViewerFiles } from '@footlight/protocol/files';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { runIn } from '../../clock.ts';
import { FileTransfers, type TransferView } from './file-transfers.ts';

/** A page's transfers, connected to a fake host. */
function open() {
  const asked: { type: string; id: number }[] = [];
  const chunks: number[] = [];
  const channel = {
    readyState: 'open',
    bufferedAmount: 0,
    send(frame: string | Uint8Array) {
      if (typeof frame !== 'string') {
        chunks.push(frame.length);
        return;
      }
      const parsed = parseViewerFiles(frame);
      if (parsed.kind === 'message') asked.push(parsed.message);
    },
  } as unknown as RTCDataChannel;
  const saved: Blob[] = [];
  let shown: readonly TransferView[] = [];
  const files = new FileTransfers(
    { channel, maxFileMb: 1, canRename: true, followQueue: () => () => {} },
    (transfers) => {
      shown = transfers;
    },
    (blob) => saved.push(blob),
  );
  const says = (data: string | ArrayBuffer) => channel.onmessage?.({ data } as MessageEvent);
  return {
    files,
    saved,
    asked,
    bytes: () => chunks.reduce((sum, one) => sum + one, 0),
    view: () => shown[0],
    says: (message: object) => says(JSON.stringify(message)),
    sends: (id: number, bytes: number) => says(encodeChunk(id, new Uint8Array(bytes)).buffer),
  };
}

describe('a fetched file', () => {
  test('is saved once, with its bytes', async () => {
    const { files, saved, view, says, sends } = open();
    files.fetch('Uploads/a.txt', 3);
    says({ type: 'ready', id: 1, size: 3 });
    sends(1, 3);
    says({ type: 'done', id: 1 });
    expect(view()).toMatchObject({ state: 'done', moved: 3, name: 'a.txt' });
    expect(saved.map(({ size }) => size)).toEqual([3]);
  });

  test('is saved once, even if a hostile host reports its end several times', () => {
    const { files, saved, view, says, sends } = open();
    files.fetch('a.txt', 3);
    says({ type: 'ready', id: 1, size: 3 });
    sends(1, 3);
    for (let time = 0; time < 50; time++) {
      says({ type: 'done', id: 1 });
      sends(1, 3);
    }
    expect(saved).toHaveLength(1);
    expect(view()).toMatchObject({ state: 'done', moved: 3 });
    says({ type: 'failed', id: 1, code: 'io' });
    expect(view()?.state).toBe('done');
  });

  test('accepts no more bytes than the host announced', () => {
    const { files, saved, view, says, sends, asked } = open();
    files.fetch('a.txt', 3);
    says({ type: 'ready', id: 1, size: 5 });
    sends(1, 4);
    sends(1, 4);
    expect(view()).toMatchObject({ state: 'failed', moved: 4 });
    expect(asked.at(-1)).toEqual({ type: 'cancel', id: 1 });
    says({ type: 'done', id: 1 });
    expect(saved).toEqual([]);
  });
});

test('a path that is too long for a host, which would not answer, is refused by the page', async () => {
  const { files, view, asked } = open();
  const deep = Array(5).fill('d'.repeat(250)).join('/');
  await expect(files.list(deep)).rejects.toThrow('The host does not allow that.');
  await expect(files.delete(deep)).rejects.toThrow('The host does not allow that.');
  await expect(files.rename(deep, 'a')).rejects.toThrow('The host does not allow that.');
  await expect(files.makeFolder(deep, 'a')).rejects.toThrow('The host does not allow that.');
  files.fetch(deep, 3);
  expect(view()).toMatchObject({ state: 'failed' });
  expect(asked).toEqual([]);
});

describe('names', () => {
  test('are sent to the host, and its refusal is a message for the person', async () => {
    const { files, asked, says } = open();
    const renaming = files.rename('Saves/a', 'b');
    says({ type: 'done', id: 1 });
    await renaming;
    const making = files.makeFolder('', 'Saves');
    says({ type: 'failed', id: 2, code: 'exists' });
    await expect(making).rejects.toThrow('This name is taken in this folder.');
    const inside = files.makeFolder('Saves', 'old');
    says({ type: 'failed', id: 3, code: 'not_found' });
    await expect(inside).rejects.toThrow('It is not there any more.');
    expect(asked).toEqual([
      { type: 'rename', id: 1, path: 'Saves/a', name: 'b' },
      { type: 'mkdir', id: 2, path: 'Saves' },
      { type: 'mkdir', id: 3, path: 'Saves/old' },
    ]);
  });

  test.each(['', '.', '..', 'a/b', 'a\nb', 'x'.repeat(256)])('%j is refused by the page', async (name) => {
    const { files, asked } = open();
    await expect(files.rename('a', name)).rejects.toThrow('This name cannot be used.');
    await expect(files.makeFolder('', name)).rejects.toThrow('This name cannot be used.');
    expect(asked).toEqual([]);
  });
});

describe('several files', () => {
  let back = () => {};
  afterEach(() => back());
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  test('are deleted one after the other, not faster than a host accepts, and failures are named', async () => {
    const time = new ManualClock();
    back = runIn(time);
    const { files, asked, says } = open();
    const deleting = files.deleteAll(['a', 'b', 'c']);
    for (const id of [1, 2, 3]) {
      await settled();
      expect(asked).toHaveLength(id);
      says(id === 2 ? { type: 'failed', id, code: 'not_found' } : { type: 'done', id });
      await settled();
      expect(asked).toHaveLength(id);
      time.advance(10);
    }
    expect(await deleting).toEqual(new Map([['b', 'It is not there any more.']]));
    expect(asked.map(({ type }) => type)).toEqual(['delete', 'delete', 'delete']);
  });

  test('are fetched two at a time, not faster than a host accepts', () => {
    const time = new ManualClock();
    back = runIn(time);
    const { files, asked, saved, says } = open();
    for (const name of ['a', 'b', 'c', 'd']) files.fetch(name, 0);
    expect(asked).toHaveLength(1);
    time.advance(10);
    expect(asked).toHaveLength(2);
    time.advance(1_000);
    expect(asked).toHaveLength(2);
    says({ type: 'ready', id: 1, size: 0 });
    says({ type: 'done', id: 1 });
    says({ type: 'ready', id: 2, size: 0 });
    says({ type: 'done', id: 2 });
    expect(asked).toHaveLength(3);
    time.advance(10);
    expect(asked).toHaveLength(4);
    expect(saved).toHaveLength(2);
  });
});

describe('a file that is sent', () => {
  let back = () => {};
  afterEach(() => back());

  test('does not delay the input: it starts slowly, and waits for queue measurements', async () => {
    const time = new ManualClock();
    back = runIn(time);
    const { files, says, bytes, view } = open();
    files.send(new File([new Uint8Array(600_000)], 'large.bin'));
    says({ type: 'ready', id: 1 });
    const taken = async (least: number) => {
      await vi.waitFor(() => expect(bytes()).toBeGreaterThanOrEqual(least));
      return bytes();
    };
    expect(await taken(1)).toBeLessThan(10_000);
    for (let ms = 0; ms < 1_000; ms += 5) {
      time.advance(5);
      await new Promise((resolve) => setImmediate(resolve));
    }
    // 1 Mbit/s: without a queue measurement the rate must not rise.
    expect(await taken(50_000)).toBeLessThan(150_000);
    expect(view()?.state).toBe('running');
  });
});
