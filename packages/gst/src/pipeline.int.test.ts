import { afterEach, describe, expect, test } from 'vitest';
import { hasElement, listElements, ManualClock, Pipeline, version } from './index.ts';
import { drain, ENCODE, PULL_LIMIT_MS } from './testing/encode-pipeline.ts';

/** A running pipeline that never delivers a sample. */
const SILENT =
  'fakesrc is-live=true num-buffers=-1 do-timestamp=true sizetype=empty ! valve drop=true ! appsink name=sink async=false';
const PASSING = 10_000;

let pipeline: Pipeline | null = null;
afterEach(async () => {
  await pipeline?.dispose();
  pipeline = null;
});

/** Waits until all due callbacks of the event loop, and the callbacks that they schedule, have run. */
async function turn(): Promise<void> {
  for (let phase = 0; phase < 3; phase++) await new Promise((resolve) => setImmediate(resolve));
}

describe('the registry', () => {
  test('lists installed elements and the version', () => {
    expect(version()).toMatch(/^1\.\d+\.\d+$/);
    expect(listElements()).toContain('openh264enc');
    expect(hasElement('appsink')).toBe(true);
    expect(hasElement('no-such-element')).toBe(false);
  });
});

describe('a pipeline', () => {
  test('delivers every encoded frame, with times and caps, and ends', async () => {
    pipeline = Pipeline.launch(ENCODE);
    pipeline.useSystemClock();
    const sink = pipeline.appSink('sink');
    await pipeline.setState('playing');
    const first = await sink.pull(PULL_LIMIT_MS);
    expect(first?.caps()).toContain('encoding-name=(string)H264');
    expect(first?.ptsMs).toBeGreaterThanOrEqual(0);
    first?.release();
    expect(() => first?.caps()).toThrow(/after release/);
    expect((await drain(pipeline)).frames).toBeGreaterThanOrEqual(29);
    expect(sink.ended).toBe(true);
    // The pipeline is polled, because the sink's thread posts the message only after it has woken the reader.
    const ended = pipeline;
    const messages: unknown[] = [];
    await expect
      .poll(() => {
        messages.push(...ended.pollBus());
        return messages;
      })
      .toContainEqual({ kind: 'eos' });
    expect(pipeline.element('encoder').padCaps('src')).toContain('video/x-h264');
    const graph = await pipeline.dot();
    expect(graph).toContain('GstOpenh264Enc');
    // The graph must contain no properties, which would be shown as name=value.
    expect(graph).not.toContain('num-buffers');
  });

  test('an element waits until a manual clock is set', async () => {
    const clock = new ManualClock();
    pipeline = Pipeline.launch(
      'videotestsrc is-live=true ! video/x-raw,width=16,height=16,framerate=10/1 ! appsink name=sink sync=false',
    );
    pipeline.useClock(clock);
    const sink = pipeline.appSink('sink');
    await pipeline.setState('playing');
    for (let frame = 0; frame < 5; frame++) {
      expect(await sink.pull(50)).toBeNull();
      const released = clock.set(BigInt(frame) * 100_000_000n);
      // The first call releases nothing if the source does not wait yet.
      if (!released) await expect.poll(() => clock.releaseWaiting()).toBe(true);
      const sample = await sink.pull(PULL_LIMIT_MS);
      expect(sample?.ptsMs).toBeCloseTo(frame * 100, 3);
      sample?.release();
    }
    await pipeline.dispose();
    clock.release();
  });

  test('properties are set and read by name; an unknown one is an error, not a log line', async () => {
    pipeline = Pipeline.launch(ENCODE);
    const encoder = pipeline.element('encoder');
    encoder.setProperty('bitrate', 750_000);
    encoder.setProperty('rate-control', 'bitrate');
    encoder.setProperty('enable-frame-skip', true);
    expect(encoder.getNumber('bitrate')).toBe(750_000);
    expect(encoder.getProperty('rate-control')).toBe('bitrate');
    expect(encoder.getProperty('enable-frame-skip')).toBe('true');
    expect(() => encoder.setProperty('no-such', 1)).toThrow(/no property/);
    expect(() => pipeline?.element('no-such')).toThrow(/no element/);
  });

  test('reports why it cannot be built', () => {
    expect(() => Pipeline.launch('no-such-element ! fakesink')).toThrow(/no-such-element/);
    expect(() => Pipeline.launch('fakesrc !')).toThrow(/no pipeline/);
  });

  test('errors of elements arrive on the bus, and a refused state rejects', async () => {
    pipeline = Pipeline.launch('filesrc location=/nonexistent/file ! fakesink');
    await expect(pipeline.setState('playing')).rejects.toThrow(/cannot go to playing/);
    expect(pipeline.pollBus()).toContainEqual(expect.objectContaining({ kind: 'error' }));
  });

  test('a requested keyframe comes long before the next regular one', async () => {
    pipeline = Pipeline.launch(
      'videotestsrc is-live=true ! video/x-raw,width=320,height=240,framerate=30/1 ! openh264enc gop-size=10000 name=encoder ! h264parse ! video/x-h264,stream-format=byte-stream,alignment=au ! appsink name=sink sync=false',
    );
    const sink = pipeline.appSink('sink');
    await pipeline.setState('playing');
    const isKeyframe = (data: Buffer) =>
      data.includes(Buffer.from([0, 0, 1, 0x65])) || data.includes(Buffer.from([0, 0, 1, 0x67]));
    const nextIsKeyframe = async () => {
      const sample = await sink.pull(PULL_LIMIT_MS);
      const frame = sample?.read()[0]?.data;
      sample?.release();
      if (frame === undefined) throw new Error('the encoder sends no frames');
      return isKeyframe(frame);
    };
    expect(await nextIsKeyframe()).toBe(true);
    for (let frame = 1; frame < 5; frame++) expect(await nextIsKeyframe()).toBe(false);
    expect(pipeline.element('sink').forceKeyUnit()).toBe(true);
    // On a busy machine, some frames that were encoded before the request still wait in the sink.
    let frames = 1;
    while (frames < 1_000 && !(await nextIsKeyframe())) frames += 1;
    expect(frames).toBeLessThan(1_000);
  });

  test('dispose ends a waiting pull, and may be called twice', async () => {
    pipeline = Pipeline.launch(SILENT);
    await pipeline.setState('playing');
    const waiting = pipeline.appSink('sink').pull();
    await Promise.all([pipeline.dispose(), pipeline.dispose()]);
    await expect(waiting).resolves.toBeNull();
  });

  test('a pull ends at its time-out, and the next one is possible', async () => {
    pipeline = Pipeline.launch(SILENT);
    await pipeline.setState('playing');
    const sink = pipeline.appSink('sink');
    const waiting = sink.pull(1);
    expect(() => sink.pull(1)).toThrow(/pulled already/);
    await expect(waiting).resolves.toBeNull();
    await expect(sink.pull(1)).resolves.toBeNull();
  });

  test('signals of other threads call back on the event loop, once for all emissions in between', async () => {
    pipeline = Pipeline.launch(`fakesrc num-buffers=${PASSING} ! identity name=passing ! fakesink`);
    let calls = 0;
    const called = new Promise<void>((resolve) => {
      pipeline?.element('passing').onSignal(['handoff'], () => {
        calls++;
        resolve();
      });
    });
    await pipeline.setState('playing');
    const ended = pipeline;
    await expect.poll(() => ended.pollBus()).toContainEqual({ kind: 'eos' });
    await called;
    await turn();
    const heard = calls;
    expect(heard).toBeLessThan(PASSING);
    await turn();
    expect(calls).toBe(heard);
  });
});
