import { expect, test } from 'vitest';
import { besideHostProblem, displayProblem } from './display-rules.ts';

const STREAM = {
  width: 1280,
  height: 720,
  rungs: [[1280, 720] as [number, number], [640, 360] as [number, number]],
};

test.each([
  ['a display size', { render_width: 640, render_height: 480 }],
  ['the launch size', { render_width: 1280, render_height: 720, stream_width: 1280, stream_height: 720 }],
  ['a rung', { stream_width: 640, stream_height: 360 }],
  ['a scale', { ui_scale: 3 }],
])('%s passes', (_what, change) => {
  expect(displayProblem(change, STREAM)).toBeNull();
});

test.each([
  ['nothing', {}],
  ['half a display size', { render_width: 640 }],
  ['half a stream size', { stream_height: 360, ui_scale: 2 }],
  ['an odd side', { render_width: 641, render_height: 480 }],
  ['a tiny side', { render_width: 640, render_height: 14 }],
  ['more than at launch', { render_width: 1280, render_height: 722 }],
  ['a size that is no rung', { stream_width: 640, stream_height: 480 }],
  ['a scale below 1', { ui_scale: 0.5 }],
  ['a scale above 3', { ui_scale: 3.5 }],
])('%s does not', (_what, change) => {
  expect(displayProblem(change, STREAM)).not.toBeNull();
});

const RENDER = { render_width: 640 };
const PICTURE = { stream_width: 640 };
test.each([
  ['a session of a virtual display', 'stream_only', { ...RENDER, ...PICTURE }, true],
  ['the picture of a display beside the host', 'dual_output', PICTURE, true],
  ['the size of a display beside the host', 'dual_output', RENDER, false],
  ['a picture without a stream', 'local_only', PICTURE, false],
  ['a scale without a stream', 'local_only', {}, true],
] as const)('%s: %s', (_what, topology, change, passes) => {
  expect(besideHostProblem(change, topology) === null).toBe(passes);
});
