import { ManualClock } from '@footlight/platform/testing';
import { describe, expect, test } from 'vitest';
import type { CaptureMade } from '../../media/worker/capture-messages.ts';
import type { ParentMessage } from '../../media/worker/worker-messages.ts';
import type { MediaWorker, WorkerExit } from '../../media/worker/worker-pool.ts';
import { capturedByWorker, WorkerCaptures } from './worker-captures.ts';

function worker() {
  const clock = new ManualClock();
  const sent: ParentMessage[] = [];
  const listeners = new Set<(message: { request: number; made: CaptureMade }) => void>();
  let exit: (how: WorkerExit) => void = () => undefined;
  const it = {
    exited: new Promise<WorkerExit>((resolve) => {
      exit = resolve;
    }),
    send: (message: ParentMessage) => sent.push(message),
    on: (_type: string, listener: (message: { request: number; made: CaptureMade }) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  } as unknown as MediaWorker;
  const says = (request: number, made: CaptureMade) => {
    for (const listener of [...listeners]) listener({ request, made });
  };
  return { captures: new WorkerCaptures(it, clock), clock, sent, says, exit, listeners };
}

const GRAPH: CaptureMade = { kind: 'pipeline_dot', graph: 'digraph {}' };

describe('a capture of the worker', () => {
  test('is the answer to its request, and to no other', async () => {
    const { captures, sent, says, listeners } = worker();
    const first = captures.make({ kind: 'pipeline_dot' }, 1_000);
    expect(sent).toEqual([{ type: 'capture', request: 1, order: { kind: 'pipeline_dot' } }]);
    says(0, { kind: 'pipeline_dot', graph: 'of nobody' });
    says(2, { kind: 'pipeline_dot', graph: 'of the future' });
    says(1, GRAPH);
    expect(await first).toEqual(GRAPH);
    expect(listeners.size).toBe(0);
  });

  test('fails on the worker’s error, on another kind, after the time limit, and when the worker ends', async () => {
    const { captures, clock, says, exit } = worker();
    const failed = captures.make({ kind: 'pipeline_dot' }, 1_000);
    says(1, { kind: 'failed', error: 'the session has no pipeline' });
    await expect(failed).rejects.toThrow('the session has no pipeline');
    const other = captures.make({ kind: 'encoder_props' }, 1_000);
    says(2, GRAPH);
    await expect(other).rejects.toThrow('something else');
    const late = captures.make({ kind: 'pipeline_dot' }, 1_000);
    const refused = expect(late).rejects.toThrow('did not answer within 1000 ms');
    await clock.pass(1_000);
    await refused;
    const gone = captures.make({ kind: 'pipeline_dot' }, 1_000);
    exit({ code: 1, signal: null });
    await expect(gone).rejects.toThrow('the media worker ended');
  });

  test('leaves the host without folders and control characters', () => {
    const graph = 'digraph {\u001b[31m\n  a [label="/home/ann/x.so /s/scratch/y"];\n}';
    expect(capturedByWorker({ kind: 'pipeline_dot', graph }, '/s/scratch')).toEqual({
      text: 'digraph {\n  a [label="…/x.so /s/scratch/y"];\n}',
      contentType: 'text/vnd.graphviz',
      keeps: 'first',
    });
    const props = {
      encoder_factory: 'openh264enc',
      codec: 'h264',
      properties: { note: 'token=abc' },
      caps: { encoder_sink: 'a=ice-pwd:abc', encoder_src: null, payloader_src: null },
      scale_stage: { element: 'x', sink: null, src: null },
    };
    expect(capturedByWorker({ kind: 'encoder_props', props }, '/s')).toMatchObject({
      json: { properties: { note: 'token=[masked]' }, caps: { encoder_sink: '[masked]' } },
    });
  });
});
