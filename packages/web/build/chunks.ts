import type { Plugin, Rolldown } from 'vite';
import { isAdminModule } from './areas.ts';

type Graph = Pick<Rolldown.ChunkingContext, 'getModuleInfo'>;

/** Form pages; code that only they share is kept out of other pages' files. */
const FORM_PAGE = /\/src\/routes\/(login|register|reset|setup|app\/_shell\.account)\./;
/** What a session page loads when a person opens it; it must not move code of pages into files that all of them load. */
const OPENED_LATER = /\/src\/(session\/(dialogs\/|ended-page|stats-view)|keyboard\/)/;
const ENTRY = /\/index\.html$/;
const LIBRARY = /\/src\/routes\/app\/_shell\.index\./;
const IN_LIBRARY = /\/src\/routes\/app\/_shell\.(index\.|tsx\?)/;
const STYLE = /\.css(\?|$)/;
/** Part of every page of the area, so never worth its own file. */
const USER_SHELL = /\/src\/routes\/app\/_shell\.tsx\?/;
const ADMIN_SHELL = /\/src\/routes\/admin\.tsx\?/;

/**
 * Assigns modules to files: `vendor` and `app` for code that the library shares with others, `forms` for pages before
 * the library and the account, `session-parts` for dialogs of a session, `beside` for code that the library does not need, `admin-shared` for administrators.
 * Null keeps a module with its only page. A browser requests six files at once over HTTP/1.1, so a page of forty
 * small files would queue. A module's dependencies are needed wherever the module is, so the files have no cyclic
 * dependencies.
 */
export function chunkNamer(): (id: string, graph: Graph) => string | null {
  const known = new Map<string, ReadonlySet<string>>();
  return (id, graph) => {
    // The entries only name the start.
    if (/\/src\/entry\/|\/index\.html$/.test(id)) return null;
    if (USER_SHELL.test(id)) return 'app';
    if (ADMIN_SHELL.test(id)) return 'admin-shared';
    const needed = [...startsThatNeed(id, graph, known)];
    const ofUsers = needed.filter((start) => !isAdminModule(start));
    const forUsers = ofUsers.filter((start) => !OPENED_LATER.test(start));
    if (forUsers.length === 0 && ofUsers.length > 0) return needed.length > 1 ? 'session-parts' : null;
    // A style file is named after its chunk, and only this name puts it behind the gate.
    if (forUsers.length === 0)
      return needed.length > 1 || STYLE.test(id) || ADMIN_SHELL.test(needed[0] ?? '') ? 'admin-shared' : null;
    if (forUsers.every((start) => FORM_PAGE.test(start))) return needed.length > 1 ? 'forms' : null;
    if (!forUsers.some((start) => ENTRY.test(start) || IN_LIBRARY.test(start)))
      return needed.length > 1 ? 'beside' : null;
    if (needed.length === 1 && LIBRARY.test(needed[0] ?? '')) return null;
    return STYLE.test(id) || !id.includes('/node_modules/') ? 'app' : 'vendor';
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
 * Preloads in each document the files of its most visited page, which would otherwise be found after the first files
 * have run: the library for users, shared code for administrators.
 */
export function preloadFirstPage(): Plugin {
  return {
    name: 'footlight:first-page-is-asked-for-early',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle, filename }) {
        const chunks = Object.values(bundle ?? {}).filter((file) => file.type === 'chunk');
        const wanted = /\/admin\/index\.html$/.test(filename)
          ? chunks.find((chunk) => chunk.name === 'admin-shared')
          : chunks.find((chunk) => /app\/_shell\.index\./.test(chunk.facadeModuleId ?? ''));
        if (wanted === undefined) this.error(`no first page was built for ${filename}`);
        const styles = [...(wanted.viteMetadata?.importedCss ?? [])];
        const tags = [
          { tag: 'link', attrs: { rel: 'modulepreload', crossorigin: true, href: `/${wanted.fileName}` } },
          ...styles.map((href) => ({
            tag: 'link',
            attrs: { rel: 'stylesheet', crossorigin: true, href: `/${href}` },
          })),
        ];
        return tags
          .filter(({ attrs }) => !html.includes(attrs.href))
          .map((tag) => ({ ...tag, injectTo: 'head' }));
      },
    },
  };
}

/** Whether a file starts with the player, whose package is imported only by its index. */
export function isPlayer(id: string | null): boolean {
  return id?.endsWith('/stream-client/src/index.ts') ?? false;
}
