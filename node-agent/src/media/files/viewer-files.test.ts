import { duplexPair } from 'node:stream';
import { ManualClock } from '@footlight/platform/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { MediaClock } from '../session/media-clock.ts';
import type { OwnChannel } from '../webrtc/peer.ts';
import { FilePipe } from './file-pipe.ts';
import { ViewerFiles } from './viewer-files.ts';

let files: ViewerFiles;
/** The file process's end of the pipe, and the messages received there. */
let home: FilePipe;
let asked: string[];

beforeEach(() => {
  const [near, far] = duplexPair();
  asked = [];
  home = new FilePipe(far, {
    onText: (text) => asked.push(text),
    onBinary: (data) => asked.push(`${data.length} bytes`),
    onReset: () => asked.push('reset'),
    onClosed: () => undefined,
  });
  files = new ViewerFiles(near, new ManualClock() as MediaClock);
});
afterEach(() => {
  files.close();
  home.close();
});

function viewer() {
  let say: (data: string) => void = () => undefined;
  const got: string[] = [];
  const channel: OwnChannel = {
    listen: ({ onMessage }) => {
      say = onMessage;
    },
    bufferedAmount: 0,
    send: (data) => void got.push(typeof data === 'string' ? data : `${data.length} bytes`),
    close: () => undefined,
  };
  files.use(channel);
  return { got, say: (data: string) => say(data) };
}

test('answers for a former viewer reach no other one, although both use the same numbers', async () => {
  const former = viewer();
  former.say('get 1');
  await expect.poll(() => asked).toEqual(['get 1']);
  home.send('ready 1');
  await expect.poll(() => former.got).toEqual(['ready 1']);
  const next = viewer();
  next.say('get 1');
  home.send(new Uint8Array(68));
  home.send('done 1');
  await expect.poll(() => asked).toEqual(['get 1', 'reset', 'get 1']);
  home.reset();
  home.send('ready 1');
  await expect.poll(() => next.got).toEqual(['ready 1']);
  expect(former.got).toEqual(['ready 1']);
});
