import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeViewer } from './fake-viewer.ts';
import { colourAt } from './index.ts';
import { ScriptedHost } from './scripted-host.ts';

let host: ScriptedHost;
let viewer: FakeViewer;

beforeEach(async () => {
  host = await ScriptedHost.start();
});

afterEach(async () => {
  await viewer.close();
  await host.close();
});

describe('the fake viewer', () => {
  test('shows the picture of the other end, and sends input', async () => {
    viewer = new FakeViewer({ decode: true });
    await viewer.connect({ url: host.url, token: 't' });
    await viewer.connected();
    await viewer.frames(10);
    const picture = await viewer.picture();
    const [red, green, blue] = colourAt(picture, 0.5, 0.5);
    expect(red).toBeGreaterThan(200);
    expect(green + blue).toBeLessThan(100);
    viewer.input.press('ControlLeft', 'KeyA');
    viewer.input.click(0.5, 0.5);
    await expect.poll(() => host.inputs.filter((input) => input.kind === 'key').length).toBe(4);
    await expect.poll(() => host.inputs.at(-1)).toMatchObject({ kind: 'button', down: false });
    expect(host.inputs[0]).toMatchObject({ kind: 'key', code: 29, down: true });
    expect(host.controls[0]).toMatchObject({ type: 'hello' });
  });

  test('keeps its picture over a lost socket and resumes it', async () => {
    viewer = new FakeViewer();
    await viewer.connect({ url: host.url, token: 't' });
    await viewer.connected();
    await viewer.frames(5);
    viewer.dropSocket();
    await viewer.frames(5);
    await viewer.connect({ url: host.url, token: 't' });
    const resumed = await viewer.message('resumed');
    expect(resumed.pc_id).toBe(viewer.pcId);
    expect(host.peers).toHaveLength(1);
  });

  test('answers nothing and floods candidates when told to', async () => {
    viewer = new FakeViewer({ answer: 'none' });
    await viewer.connect({ url: host.url, token: 't' });
    await viewer.message('offer');
    expect(host.heard.map((message) => message.type)).toEqual(['hello']);
  });
});
