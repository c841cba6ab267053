import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFetcher, FetchRefused, PUBLIC_INTERNET } from '../../platform/outgoing/guarded-fetch.ts';
import { ManualClock } from '../../testing/index.ts';
import { GIF, HTML, JPEG, png, SVG } from '../testing/pictures.ts';
import { fetchPicture } from './fetch-picture.ts';

const CAP = 256 * 1024;
const HOST = '127.0.0.1';

let server: Server;
let address: string;
let answer: RequestListener;
const fetcher = createFetcher({
  clock: new ManualClock(),
  policy: { ...PUBLIC_INTERNET, isAllowed: (dialled) => dialled === HOST },
  stopping: new AbortController().signal,
});

beforeAll(async () => {
  server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  address = `http://${HOST}:${(server.address() as AddressInfo).port}/`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe('a fetched picture', () => {
  const served = (bytes: Buffer, type: string | null, status = 200) => {
    answer = (_request, response) => {
      response.writeHead(status, type === null ? {} : { 'content-type': type }).end(bytes);
    };
    return fetchPicture(fetcher, address, CAP);
  };

  test('is accepted if bytes and server declare the same type', async () => {
    expect((await served(png(2, 2), 'image/png')).sniffed.extension).toBe('png');
    expect((await served(JPEG, 'Image/JPEG; q=1')).sniffed.type).toBe('image/jpeg');
  });

  test.each<[string, Buffer, string | null, number?]>([
    ['a page', HTML, 'text/html'],
    ['a page that says it is a picture', HTML, 'image/png'],
    ['an SVG', SVG, 'image/svg+xml'],
    ['an SVG that says it is a PNG', SVG, 'image/png'],
    ['a GIF', GIF, 'image/gif'],
    ['a PNG that says it is a JPEG', png(2, 2), 'image/jpeg'],
    ['a PNG that says it is a page', png(2, 2), 'text/html'],
    ['a PNG of no declared type', png(2, 2), null],
    ['a PNG as the page of an error', png(2, 2), 'image/png', 404],
    ['nothing', Buffer.alloc(0), 'image/png'],
  ])('is not %s', async (_, bytes, type, status) => {
    await expect(served(bytes, type, status)).rejects.toThrow(FetchRefused);
  });
});
