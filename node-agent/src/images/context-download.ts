import { createWriteStream } from 'node:fs';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Dispatcher, request } from 'undici';

/** Largest compressed archive. Source: docs/containers.md, "The image catalog". */
export const MAX_ARCHIVE_BYTES = 512 * 1024 * 1024;
/** Largest number of redirects. Code hosts redirect an archive's address once. */
const MAX_REDIRECTS = 5;

/** The address is not allowed, or the downloaded file is not a usable archive. */
export class ContextRefused extends Error {}

/**
 * Checks that a context may be fetched from an address: it must use https and a host of SERVICE_IMAGE_SOURCE_HOSTS.
 * @param hosts names, each with its port if the port is not 443
 * @throws ContextRefused
 */
export function contextUrl(text: string, hosts: readonly string[]): URL {
  if (!URL.canParse(text)) throw new ContextRefused('context_url is no address');
  const url = new URL(text);
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '')
    throw new ContextRefused('context_url must be https, without a name and a password');
  if (!hosts.includes(url.host.toLowerCase()))
    throw new ContextRefused(`${url.host} is not in SERVICE_IMAGE_SOURCE_HOSTS`);
  return url;
}

/**
 * Fetches an archive into a new file. The address of each redirect is checked like the first one.
 * @param dispatcher only for tests with their own certificates
 * @throws ContextRefused
 */
export async function downloadContext(
  address: string,
  target: string,
  {
    hosts,
    signal,
    heard,
    dispatcher,
  }: {
    hosts: readonly string[];
    signal: AbortSignal;
    heard: () => void;
    dispatcher?: Dispatcher;
  },
): Promise<void> {
  let url = contextUrl(address, hosts);
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const answer = await request(url, { signal, ...(dispatcher ? { dispatcher } : {}) });
    const { statusCode, headers, body } = answer;
    const location = headers.location;
    if (statusCode >= 300 && statusCode < 400 && typeof location === 'string') {
      await body.dump();
      url = contextUrl(new URL(location, url).href, hosts);
      continue;
    }
    if (statusCode !== 200) {
      await body.dump();
      throw new ContextRefused(`${url.host} answered ${statusCode}`);
    }
    await pipeline(
      body as Readable,
      atMost(MAX_ARCHIVE_BYTES, heard),
      createWriteStream(target, { mode: 0o600, flags: 'wx' }),
      {
        signal,
      },
    );
    return;
  }
  throw new ContextRefused(`${url.host} redirects without end`);
}

function atMost(limit: number, heard: () => void): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      heard();
      bytes += chunk.length;
      if (bytes > limit) done(new ContextRefused('the archive is larger than 512 MiB'));
      else done(null, chunk);
    },
  });
}
