import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { REFERENCE_PAGE, SWAGGER_UI } from '../install-location.ts';
import { CachedBody, sendCached } from '../platform/http/message/cached-body.ts';
import { matchesEtag } from '../platform/http/message/etag.ts';
import type { Server } from '../platform/http/server.ts';
import { referenceText } from './document.ts';

/** Files of the page; none comes from another server. */
const PAGE_FILES = [
  { name: 'page.css', folder: REFERENCE_PAGE },
  { name: 'page.js', folder: REFERENCE_PAGE },
  { name: 'swagger-ui.css', folder: SWAGGER_UI },
  { name: 'swagger-ui-bundle.js', folder: SWAGGER_UI },
];
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/** A public text. It is created and compressed at the first request and does not change while the process runs. */
interface Published {
  body: CachedBody;
  /** Clients revalidate each time and receive the text only if it has changed. */
  headers: { etag: string; 'cache-control': 'no-cache' };
}

/** @param load called until it succeeds once */
function publish(load: () => Promise<string>): () => Promise<Published> {
  let published: Promise<Published> | null = null;
  return () => {
    published ??= load().then(
      (text) => ({
        body: new CachedBody(text),
        headers: {
          // A weak tag, because the same text is sent both compressed and plain.
          etag: `W/"${createHash('sha256').update(text).digest('base64url')}"`,
          'cache-control': 'no-cache',
        },
      }),
      (error: unknown) => {
        published = null;
        throw error;
      },
    );
    return published;
  };
}

/** Serves the contract as a JSON document for programs and as a page for people. */
export async function registerReference(server: Server): Promise<void> {
  const document = publish(async () => referenceText());
  server.handle(
    'openapi.read',
    async (request) => {
      const { body, headers } = await document();
      if (matchesEtag(request.headers['if-none-match'], headers.etag)) return { status: 304, headers };
      return { status: 200, kept: body, headers };
    },
    { compress: false },
  );

  const page = await readFile(path.join(REFERENCE_PAGE, 'index.html'), 'utf8');
  server.handle('docs.read', async () => ({
    status: 200,
    raw: page,
    headers: { 'cache-control': 'no-cache' },
  }));
  for (const { name, folder } of PAGE_FILES) {
    const file = publish(() => readFile(path.join(folder, name), 'utf8'));
    const type = TYPES[path.extname(name)];
    server.fastify.get(`/docs/${name}`, { compress: false }, async (request, reply) => {
      const { body, headers } = await file();
      reply.headers({ ...headers, 'content-type': type });
      if (matchesEtag(request.headers['if-none-match'], headers.etag)) return reply.code(304).send();
      return sendCached(body, reply);
    });
  }
}
