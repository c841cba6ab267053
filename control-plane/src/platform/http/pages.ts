import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import staticFiles from '@fastify/static';
import type { Logger } from '@footlight/platform';
import { DAY_MS } from '@footlight/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, noSuch } from '../errors.ts';
import { pathOf } from './message/request.ts';
import type { Server } from './server.ts';

/** File names of a build. No segment starts with a dot, so a name cannot refer to a file outside the folder. */
const FILE_NAME = /^([\w-][\w.-]*\/)*[\w-][\w.-]*$/;

/** Checks who may see which page. */
interface PageGate {
  /** Whether a Cookie header belongs to an enabled administrator. */
  opensAdminPages(cookieHeader: string | undefined): Promise<boolean>;
  adminExists(): Promise<boolean>;
  /** The registration mode: closed, invite_only or open; null: it could not be read. Never rejects. */
  registrationMode(): Promise<string | null>;
}

/**
 * Placeholder in the document of the pages before the library. The server inserts the registration mode, because no
 * public operation returns it.
 */
const REGISTRATION_UNKNOWN = '<meta name="registration" content="" />';

/** Placeholder in every document with the login page: the name of the identity provider. */
const NO_SINGLE_SIGN_ON = '<meta name="single-sign-on" content="" />';

export interface PagesOptions {
  /** Folder of the built web app. If the folder is missing, the gates work, but no pages are served. */
  webDir: string;
  gate: PageGate;
  logger: Logger;
  /** Name of the identity provider on the button of the login page; null: there is no button. */
  singleSignOn: string | null;
}

/** The documents of the web app; null: missing in this build. */
interface Documents {
  user: string | null;
  /** The document of the pages before the library, which need less code. */
  signIn: string | null;
  admin: string | null;
}

/**
 * Serves the web app: three documents and their files. Documents and files of the administrators' area need the page
 * cookie; their data still needs the API's bearer header.
 *
 * Answers GET and HEAD. An unknown page is answered with 404 and the app's document, which shows an error page.
 */
export async function registerPages(server: Server, options: PagesOptions): Promise<void> {
  const { gate, logger, singleSignOn, webDir } = options;
  const { fastify } = server;
  const documents = await loadDocuments(webDir, singleSignOn);
  if (documents.user === null)
    logger.warn({ hint: 'There is no built web app to serve.' }, 'pages.not_built');

  function sendDocument(reply: FastifyReply, document: string | null, status: number): FastifyReply {
    if (document === null) {
      return reply
        .code(status === 200 ? 503 : status)
        .type('text/plain; charset=utf-8')
        .send('No web app here.\n');
    }
    return reply.code(status).type('text/html; charset=utf-8').send(document);
  }

  const userPage = (_request: FastifyRequest, reply: FastifyReply) =>
    sendDocument(reply, documents.user, 200);

  const doorPage = async (_request: FastifyRequest, reply: FastifyReply) => {
    const mode = await gate.registrationMode();
    const document = documents.signIn ?? documents.user;
    if (mode === null || document === null) return sendDocument(reply, document, 200);
    return sendDocument(reply, document.replace(REGISTRATION_UNKNOWN, registrationMeta(mode)), 200);
  };

  const adminPage = async (request: FastifyRequest, reply: FastifyReply) => {
    if (await gate.opensAdminPages(request.raw.headers.cookie)) {
      return sendDocument(reply, documents.admin ?? documents.user, 200);
    }
    const next = encodeURIComponent(request.raw.url ?? '/admin');
    return reply.redirect(`/login?next=${next}`, 302);
  };

  fastify.get('/', (_request, reply) => reply.redirect('/app', 302));
  for (const url of ['/login', '/login/callback', '/register', '/reset']) fastify.get(url, doorPage);
  // The page of a guest; the secret of the link is in the fragment, which browsers do not send.
  for (const url of ['/app', '/app/*', '/join']) fastify.get(url, userPage);
  fastify.get('/setup', async (_request, reply) => {
    if (!(await gate.adminExists())) return sendDocument(reply, documents.signIn ?? documents.user, 200);
    return reply.redirect('/login', 302);
  });
  for (const url of ['/admin', '/admin/*']) fastify.get(url, adminPage);
  if (documents.user !== null) await registerFiles(server, webDir, gate);

  server.otherwise((request, reply) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') throw noSuch('path', pathOf(request.raw));
    return sendDocument(reply, documents.user, 404);
  });
}

const registrationMeta = (mode: string) => `<meta name="registration" content="${mode}" />`;

/**
 * Registers the files of the build. Their names contain a hash of their content, so browsers may cache them forever.
 */
async function registerFiles(server: Server, webDir: string, gate: PageGate): Promise<void> {
  const { fastify } = server;
  await fastify.register(staticFiles, {
    root: webDir,
    serve: false,
    index: false,
    dotfiles: 'deny',
    preCompressed: true,
    acceptRanges: false,
  });

  // The build compresses files. The server does not compress them, because a client could keep it busy with requests.
  const compress = { compress: false as const };
  // Each area has its own root, so that a path with `..` cannot reach the other area.
  const userFiles = path.join(webDir, 'assets');
  const adminFiles = path.join(webDir, 'admin', 'assets');

  fastify.get<{ Params: { '*': string } }>('/assets/*', compress, (request, reply) => {
    const file = request.params['*'];
    if (!FILE_NAME.test(file)) return reply.callNotFound();
    return reply.sendFile(file, userFiles, { immutable: true, maxAge: 365 * DAY_MS });
  });

  fastify.get<{ Params: { '*': string } }>('/admin/assets/*', compress, async (request, reply) => {
    const file = request.params['*'];
    if (!(await gate.opensAdminPages(request.raw.headers.cookie))) throw new ApiError('not_found');
    if (!FILE_NAME.test(file)) return reply.callNotFound();
    // Private, so that no shared cache stores them.
    return reply
      .header('cache-control', `private, max-age=${(365 * DAY_MS) / 1000}, immutable`)
      .sendFile(file, adminFiles, { cacheControl: false });
  });

  for (const file of await rootFiles(webDir)) {
    fastify.get(`/${file}`, compress, (_request, reply) => reply.sendFile(file, { maxAge: 0 }));
  }
}

/** The few files at the root that documents name, such as the icon; never a document. */
async function rootFiles(webDir: string): Promise<string[]> {
  const entries = await readdir(webDir, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && /^[a-z0-9][a-z0-9._-]*$/i.test(entry.name))
    .map((entry) => entry.name)
    .filter((name) => !/\.(html|br|gz)$/.test(name));
}

async function loadDocuments(webDir: string, singleSignOn: string | null): Promise<Documents> {
  const meta = singleSignOn === null ? NO_SINGLE_SIGN_ON : singleSignOnMeta(singleSignOn);
  const read = async (...file: string[]) =>
    // The function prevents that `$` in the name is read as a pattern.
    (await readDocument(path.join(webDir, ...file)))?.replace(NO_SINGLE_SIGN_ON, () => meta) ?? null;
  const [user, signIn, admin] = await Promise.all([
    read('index.html'),
    read('sign-in', 'index.html'),
    read('admin', 'index.html'),
  ]);
  return { user, signIn, admin };
}

function singleSignOnMeta(name: string): string {
  const escaped = name.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  return `<meta name="single-sign-on" content="${escaped}" />`;
}

/** Reads a document; null if it is missing. Other errors stop the boot. */
async function readDocument(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
