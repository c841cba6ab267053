import type { Plugin, Rolldown } from 'vite';
import { isAdminModule } from './areas.ts';

type Graph = Pick<Rolldown.ChunkingContext, 'getModuleInfo'>;

/** Pages with forms. Code that only these pages share must not be in other pages' files. */
const FORM_PAGE = /\/src\/routes\/(login|register|reset|setup|join|app\/_shell\.account)\./;
/**
 * Modules that a session page loads when a person opens them. Their shared code must not move into files that every
 * session page loads.
 */
const OPENED_LATER =
  /\/src\/(session\/(dialogs\/|guests\/(share-dialog|guest-theatre)|bar\/session-bar|ended-page|session-report|stats\/stats-view|recording-mark|files\/|fit\/window-follower|touch\/touch-kit)|launch\/quality-dialog|account\/keyboard-choice|keyboard\/)/;
const ACCOUNT = /\/src\/routes\/app\/_shell\.account\./;
const ENTRY = /\/index\.html$/;
/** The document of the pages before sign-in, and the pages that it loads. */
const SIGN_IN = /\/sign-in\/index\.html$/;
const SIGN_IN_PAGE = /\/src\/account\/(register|reset|claim)-page\.tsx$/;
const LIBRARY = /\/src\/routes\/app\/_shell\.index\./;
const IN_LIBRARY = /\/src\/routes\/app\/_shell\.(index\.|tsx\?)/;
const STYLE = /\.css(\?|$)/;
/** The frame of every page of the area. It needs no separate file, which would only cost a request. */
const USER_SHELL = /\/src\/routes\/app\/_shell\.tsx\?/;
const ADMIN_SHELL = /\/src\/routes\/admin\.tsx\?/;

/**
 * Assigns modules to files:
 *
 * - `base`: code that all documents need, and the styles of the pages opened first.
 * - `login`, `sign-in-pages`, `forms`: code of the pages before the library; the account page needs `forms` too.
 * - `choices`: code that the account page shares with dialogs of library and session, and with administrators.
 * - `app`: the frame of all pages after the login. `stage`: code that library and session share.
 * - `beside`: code that the library does not need.
 * - `session-parts`: dialogs of a session. `streaming`: code that these dialogs share with the player.
 * - `admin-shared`: code that administrators' pages share.
 *
 * Null: the module stays in the file of its only page. A browser requests six files at once over HTTP/1.1, so a page of
 * forty small files would wait. If a page needs a module, it also needs the module's dependencies, so the files have no
 * cyclic dependencies.
 */
export function chunkNamer(): (id: string, graph: Graph) => string | null {
  const known = new Map<string, ReadonlySet<string>>();
  return (id, graph) => {
    // The entries contain only the start code.
    if (/\/src\/entry\/|\/index\.html$/.test(id)) return null;
    if (USER_SHELL.test(id)) return 'app';
    if (ADMIN_SHELL.test(id)) return 'admin-shared';
    const needed = [...startsThatNeed(id, graph, known)];
    const ofUsers = needed.filter((start) => !isAdminModule(start));
    const forUsers = ofUsers.filter((start) => !OPENED_LATER.test(start));
    // Administrators' pages load `beside` anyway, so a separate file would cost an additional request.
    const withAdmin = needed.some(isAdminModule);
    if (forUsers.length === 0 && ofUsers.length > 0)
      return needed.length === 1 ? null : withAdmin ? 'beside' : 'session-parts';
    // Code that is loaded with the player, or by parts that are opened later, so no page waits for it.
    if (forUsers.length > 0 && forUsers.every(isPlayer))
      return needed.length === 1 ? null : withAdmin ? 'beside' : 'streaming';
    // A style file gets the name of its chunk, and only this name places the file behind the administrators' gate.
    if (forUsers.length === 0)
      return needed.length > 1 || STYLE.test(id) || ADMIN_SHELL.test(needed[0] ?? '') ? 'admin-shared' : null;
    const isForm = (start: string) =>
      FORM_PAGE.test(start) || SIGN_IN_PAGE.test(start) || SIGN_IN.test(start);
    if (forUsers.every(isForm)) {
      if (STYLE.test(id) && needed.length > 1) return 'base';
      if (needed.length === 1) return null;
      // This code is bundled with dialogs of library and session, or with administrators' pages, so that the login does
      // not load it.
      if (forUsers.every((start) => ACCOUNT.test(start))) return 'choices';
      // The account page and administrators' pages need these fields; no page before sign-in does.
      if (forUsers.some((start) => ACCOUNT.test(start)) || withAdmin) return 'forms';
      return forUsers.some((start) => SIGN_IN.test(start)) ? 'login' : 'sign-in-pages';
    }
    const isInLibrary = (start: string) => ENTRY.test(start) || IN_LIBRARY.test(start);
    // Code that a page before sign-in needs is in `base`. In the frame's file, it would make the login load the frame.
    const isSignIn = (start: string) => SIGN_IN.test(start) || SIGN_IN_PAGE.test(start);
    if (forUsers.some(isSignIn) || (STYLE.test(id) && forUsers.some(isInLibrary))) return 'base';
    if (!forUsers.some(isInLibrary)) return needed.length > 1 ? 'beside' : null;
    if (needed.length === 1 && LIBRARY.test(needed[0] ?? '')) return null;
    const isInFrame = (start: string) => ENTRY.test(start) || USER_SHELL.test(start) || ACCOUNT.test(start);
    return forUsers.some(isInFrame) ? 'app' : 'stage';
  };
}

/** Entry files (documents' entries and dynamic imports) that reach a module by static imports. */
function startsThatNeed(
  id: string,
  graph: Graph,
  known: Map<string, ReadonlySet<string>>,
): ReadonlySet<string> {
  const before = known.get(id);
  if (before !== undefined) return before;
  const starts = new Set<string>();
  const seen = new Set([id]);
  const queue = [id];
  for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
    const info = graph.getModuleInfo(at);
    if (info === null) continue;
    if (info.isEntry || info.dynamicImporters.length > 0) starts.add(at);
    for (const importer of info.importers) {
      if (seen.has(importer)) continue;
      seen.add(importer);
      queue.push(importer);
    }
  }
  known.set(id, starts);
  return starts;
}

/**
 * Adds preloads to each document for the files of its most visited page: the library for users, shared code for
 * administrators. Otherwise the browser would discover these files only after the first files have run. Scripts have a
 * low priority, so that the styles come first and the document's logo is drawn while the scripts are loaded. The login
 * is a part of its document.
 */
export function preloadFirstPage(): Plugin {
  return {
    name: 'footlight:first-page-is-asked-for-early',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle, filename }) {
        if (SIGN_IN.test(filename)) return html;
        const chunks = Object.values(bundle ?? {}).filter((file) => file.type === 'chunk');
        const wanted = /\/admin\/index\.html$/.test(filename)
          ? chunks.find((chunk) => chunk.name === 'admin-shared')
          : chunks.find((chunk) => /app\/_shell\.index\./.test(chunk.facadeModuleId ?? ''));
        if (wanted === undefined) this.error(`no first page was built for ${filename}`);
        const styles = [...(wanted.viteMetadata?.importedCss ?? [])];
        const tags = [
          ...[wanted.fileName, ...wanted.imports].map((file) => ({
            tag: 'link',
            attrs: { rel: 'modulepreload', crossorigin: true, href: `/${file}`, fetchpriority: 'low' },
          })),
          ...styles.map((href) => ({
            tag: 'link',
            attrs: { rel: 'stylesheet', crossorigin: true, href: `/${href}` },
          })),
        ];
        return {
          html: html.replaceAll(
            /<(script type="module"|link rel="modulepreload")/g,
            '<$1 fetchpriority="low"',
          ),
          tags: tags
            .filter(({ attrs }) => !html.includes(attrs.href))
            .map((tag) => ({ ...tag, injectTo: 'head' })),
        };
      },
    },
  };
}

/** Whether a module is the player's index. Other packages import the player only through its index. */
export function isPlayer(id: string | null): boolean {
  return id?.endsWith('/stream-client/src/index.ts') ?? false;
}
