import { ManualClock } from '@footlight/platform/testing';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import x11 from 'x11';
import { TestHost, type TestSession } from '../../media/testing/test-host.ts';
import { DisplayChanges } from './display-changes.ts';

const FULL = { width: 640, height: 480 };
const HALF = { width: 320, height: 240 };

let host: TestHost;
/** Number of times that the screen changed its size. */
let resized = 0;

beforeAll(async () => {
  host = await TestHost.open(FULL);
  const { client, root } = host.desktop;
  client.ChangeWindowAttributes(root, { eventMask: x11.eventMask.StructureNotify });
  client.on('event', ({ name }) => {
    if (name === 'ConfigureNotify') resized += 1;
  });
});
afterEach(() => host.clear());
afterAll(() => host?.close());

const screen = async () => {
  const { width, height } = await host.desktop.request<typeof FULL>((callback) =>
    host.desktop.client.GetGeometry(host.desktop.root, callback),
  );
  return { width, height };
};

/**
 * Requests a change of size, stops a process until the change's time limit has passed, and then continues the process.
 */
async function tooLate(session: TestSession, pid: number): Promise<void> {
  const clock = new ManualClock();
  const changes = new DisplayChanges(session.worker, clock, session.worker.exited);
  process.kill(pid, 'SIGSTOP');
  const outcome = changes.make({ render: HALF, stream: HALF });
  await new Promise(setImmediate);
  clock.advance(4_500);
  const refusal = await outcome;
  process.kill(pid, 'SIGCONT');
  expect(refusal).toBe('the display did not change in time');
  expect((await session.first('display_done')).error).toBe('the change was withdrawn');
  // Changes are serialized, so when this change is done, an undo of the earlier change is done too.
  expect(await changes.make({ ui_scale: 1 })).toBeNull();
}

test('a worker that was stopped past the limit does not start the refused change', async () => {
  const session = await host.startSession();
  resized = 0;
  await tooLate(session, session.worker.pid);
  expect(await screen()).toEqual(FULL);
  expect(resized).toBe(0);
});

test('if the display server was stopped, the started change is undone, and the picture continues', async () => {
  const session = await host.startSession();
  const alice = await session.watch();
  await tooLate(session, host.display.pid);
  expect(await screen()).toEqual(FULL);
  expect(alice.control.findLast(({ type }) => type === 'display')).toMatchObject({
    render_width: FULL.width,
    render_height: FULL.height,
    stream_width: FULL.width,
    owner: 'auto',
  });
  const seen = alice.video.length;
  await alice.until('frames', () => alice.video.length > seen + 10);
  expect(session.heard('failure')).toEqual([]);
});
