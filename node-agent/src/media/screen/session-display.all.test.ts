import { type AgentControl, encodePointerAbs } from '@footlight/protocol/input';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { NativeViewer } from '../testing/native-viewer.ts';
import { TestHost, type TestSession } from '../testing/test-host.ts';

const WIDTH = 640;
const HEIGHT = 480;

let host: TestHost;

beforeAll(async () => {
  host = await TestHost.open({ width: WIDTH, height: HEIGHT });
});

afterEach(() => host.clear());
afterAll(() => host?.close());

describe('another size of the display', () => {
  const screen = async () => {
    const { width, height } = await host.desktop.request<{ width: number; height: number }>((callback) =>
      host.desktop.client.GetGeometry(host.desktop.root, callback),
    );
    return [width, height];
  };
  type Size = { width: number; height: number };
  let request = 0;
  /** The last sizes that were sent to the viewer. They may arrive later than the worker's answer. */
  const shown = ({ control }: NativeViewer) =>
    control.findLast(
      (message): message is Extract<AgentControl, { type: 'display' }> => message.type === 'display',
    );
  /** Requests a change of sizes. @returns the reason of a refusal; null: accepted */
  const ask = ({ worker }: TestSession, sizes: { render?: Size; stream?: Size }) =>
    new Promise<string | null>((resolve) => {
      const asked = ++request;
      worker.on('display_done', ({ request, error }) => request === asked && resolve(error));
      worker.send({ type: 'display', request: asked, ...sizes });
    });

  test('the picture continues, the viewer gets the sizes, and its pointer lands at the right place', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
    const half = { width: WIDTH / 2, height: HEIGHT / 2 };
    expect(await ask(session, { render: half })).toBeNull();
    expect(await screen()).toEqual([half.width, half.height]);
    const seen = alice.video.length;
    await alice.until('frames', () => alice.video.length > seen + 10);
    await alice.until('told', () => shown(alice)?.render_width === half.width);
    expect(shown(alice)).toMatchObject({
      render_width: half.width,
      render_height: half.height,
      stream_width: WIDTH,
      owner: 'auto',
    });
    alice.send('motion', encodePointerAbs({ seq: 1, t: 0, x: 0xffff, y: 0xffff }));
    const pointer = () =>
      host.desktop.request<{ rootX: number; rootY: number }>((callback) =>
        host.desktop.client.QueryPointer(host.desktop.root, callback),
      );
    await expect.poll(pointer).toMatchObject({ rootX: half.width - 1, rootY: half.height - 1 });
    expect(await ask(session, { render: { width: WIDTH, height: HEIGHT } })).toBeNull();
    expect(await screen()).toEqual([WIDTH, HEIGHT]);
    expect(session.heard('failure')).toEqual([]);
  });

  test('another stream size begins with a keyframe, and the viewer gets the reason of the change', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
    const half = { width: WIDTH / 2, height: HEIGHT / 2 };
    const before = alice.keyframes;
    expect(await ask(session, { stream: half })).toBeNull();
    await alice.until('a keyframe', () => alice.keyframes > before);
    await alice.until('told', () => shown(alice)?.owner === 'pinned');
    expect(shown(alice)).toMatchObject({
      render_width: WIDTH,
      stream_width: half.width,
      stream_height: half.height,
      owner: 'pinned',
    });
    expect(await ask(session, { stream: { width: WIDTH, height: HEIGHT } })).toBeNull();
    await alice.until('told', () => shown(alice)?.owner === 'auto');
    const seen = alice.video.length;
    await alice.until('frames', () => alice.video.length > seen + 10);
    expect(session.heard('failure')).toEqual([]);
  });

  test('a change that is withdrawn just after it was made is undone, and the viewer is informed', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
    const half = { width: WIDTH / 2, height: HEIGHT / 2 };
    expect(await ask(session, { render: half, stream: half })).toBeNull();
    await alice.until('told', () => shown(alice)?.owner === 'pinned');
    session.worker.send({ type: 'withdraw_display', request });
    await alice.until('told', () => shown(alice)?.owner === 'auto');
    expect(shown(alice)).toMatchObject({ render_width: WIDTH, render_height: HEIGHT, stream_width: WIDTH });
    expect(await screen()).toEqual([WIDTH, HEIGHT]);
    const seen = alice.video.length;
    await alice.until('frames', () => alice.video.length > seen + 10);
    expect(session.heard('failure')).toEqual([]);
  });

  test('a change that the screen refuses is undone completely', async () => {
    const session = await host.startSession();
    expect(await ask(session, { render: { width: WIDTH * 2, height: HEIGHT } })).not.toBeNull();
    expect(await screen()).toEqual([WIDTH, HEIGHT]);
    const alice = await session.watch();
    const seen = alice.video.length;
    await alice.until('frames', () => alice.video.length > seen + 10);
  });
});
