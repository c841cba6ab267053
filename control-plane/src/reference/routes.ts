import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import staticFiles from '@fastify/static';
import { REFERENCE_PAGE, SWAGGER_UI } from '../install-location.ts';
import { matchesEtag } from '../platform/http/etag.ts';
import type { Server } from '../platform/http/server.ts';
import { referenceText } from './document.ts';

/** Everything that the page loads; nothing of it comes from another server. */
const PAGE_FILES = ['page.css', 'page.js', 'swagger-ui.css', 'swagger-ui-bundle.js'];
const COMPRESSED = {
  compress: {
    encodings: ['br' as const, 'gzip' as const],
    customTypes: /^(text|application)\/(javascript|css)/,
  },
};

/** Serves the contract: as a document for programs, and as a page for people. */
export async function registerReference(server: Server): Promise<void> {
  let document: { text: string; etag: string } | null = null;

  /** Made when somebody asks for the first time; it is the same for as long as this process runs. */
  function published(): { text: string; etag: string } {
    if (document === null) {
      const text = referenceText();
      // Weak, since the same text travels compressed and not.
      document = { text, etag: `W/"${createHash('sha256').update(text).digest('base64url')}"` };
    }
    return document;
  }

  server.handle('openapi.read', async ({ headers }) => {
    const { text, etag } = published();
    // Programs ask again each time, and get the text again only where it has changed.
    const caching = { etag, 'cache-control': 'no-cache' };
    if (matchesEtag(headers['if-none-match'], etag)) return { status: 304, headers: caching };
    return { status: 200, raw: text, headers: caching };
  });

  const page = await readFile(path.join(REFERENCE_PAGE, 'index.html'), 'utf8');
  server.handle('docs.read', async () => ({
    status: 200,
    raw: page,
    headers: { 'cache-control': 'no-cache' },
  }));
  await server.fastify.register(async (scope) => {
    await scope.register(staticFiles, { root: [REFERENCE_PAGE, SWAGGER_UI], serve: false, index: false });
    for (const file of PAGE_FILES)
      scope.get(`/docs/${file}`, COMPRESSED, (_request, reply) => reply.sendFile(file, { maxAge: 0 }));
  });
}
