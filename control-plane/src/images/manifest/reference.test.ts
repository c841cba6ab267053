import fc from 'fast-check';
import { expect, test } from 'vitest';
import { byDigest, parseReference } from './reference.ts';

const DIGEST = `sha256:${'0a'.repeat(32)}`;

test.each([
  ['ghcr.io/example/retro:1.4', { host: 'ghcr.io', name: 'example/retro', target: { tag: '1.4' } }],
  ['ghcr.io/retro', { host: 'ghcr.io', name: 'retro', target: { tag: 'latest' } }],
  ['127.0.0.1:5000/retro:x', { host: '127.0.0.1:5000', name: 'retro', target: { tag: 'x' } }],
  ['localhost/retro:x', { host: 'localhost', name: 'retro', target: { tag: 'x' } }],
  ['GHCR.io/retro:X', { host: 'ghcr.io', name: 'retro', target: { tag: 'X' } }],
  [`ghcr.io/retro:1@${DIGEST}`, { host: 'ghcr.io', name: 'retro', target: { digest: DIGEST } }],
])('%s is a name', (text, expected) => {
  expect(parseReference(text)).toEqual(expected);
});

test.each([
  '',
  'retro',
  'example/retro:1',
  'ghcr.io/',
  'ghcr.io/Retro:1',
  'ghcr.io/../retro:1',
  'ghcr.io//retro',
  'ghcr.io/retro:',
  'ghcr.io/retro:a b',
  'ghcr.io/retro@sha256:00',
  `ghcr.io/retro@md5:${'0'.repeat(32)}`,
  `ghcr.io/retro@${DIGEST}@${DIGEST}`,
  'https://ghcr.io/retro:1',
  'user@ghcr.io/retro:1',
  'ghcr.io/retro:1?x=1',
  'ghcr.io/retro:1#x',
  `ghcr.io/${'a'.repeat(400)}:1`,
])('%j is none', (text) => {
  expect(parseReference(text)).toBeNull();
});

test('no text makes it throw, and a name by its digest is one again', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const read = parseReference(`ghcr.io/${text}`);
      if (read !== null) expect(parseReference(byDigest(read, DIGEST))?.target).toEqual({ digest: DIGEST });
    }),
  );
});
