import type { Plugin, Rolldown } from 'vite';
import { isAdminModule } from './areas.ts';

type Graph = Pick<Rolldown.ChunkingContext, 'getModuleInfo'>;

/** Pages that are mostly a form; what only they share stays out of every other page's way. */
const FORM_PAGE = /\/src\/routes\/(login|register|setup|app\/_shell\.account)\./;
const ENTRY = /\/index\.html$/;
const LIBRARY = /\/src\/routes\/app\/_shell\.index\./;
const IN_LIBRARY = /\/src\/routes\/app\/_shell\.(index\.|tsx\?)/;
const STYLE = /\.css(\?|$)/;
/** Around every page of an area, so never worth a file of its own. */
const USER_SHELL = /\/src\/routes\/app\/_shell\.tsx\?/;
const ADMIN_SHELL = /\/src\/routes\/admin\.tsx\?/;

/**
 * Says which file a module goes to: `vendor` and `app` hold what the library and others share, `forms` what only the
 * pages before the library and the account share, `beside` what the library does without, `admin-shared` what only
 * administrators need. Null leaves a module to the one page that needs it. Over HTTP/1.1 a browser asks for six files
 * at once, so a page made of forty small ones waits in line. Every module's dependencies are needed wherever it is, so
 * the files can never need one another in a circle.
 */
export function chunkNamer(): (id: string, graph: Graph) => string | null {
  const known = new Map<string, ReadonlySet<string>>();
  return (id, graph) => {
    // The entries say only which start they make.
    if (/\/src\/entry\/|\/index\.html$/.test(id)) return null;
    if (USER_SHELL.test(id)) return 'app';
    if (ADMIN_SHELL.test(id)) return 'admin-shared';
    const needed = [...startsThatNeed(id, graph, known)];
    const forUsers = needed.filter((start) => !isAdminModule(start));
    if (forUsers.length === 0) return needed.length > 1 ? 'admin-shared' : null;
    if (forUsers.every((start) => FORM_PAGE.test(start))) return needed.length > 1 ? 'forms' : null;
    if (!forUsers.some((start) => ENTRY.test(start) || IN_LIBRARY.test(start)))
      return needed.length > 1 ? 'beside' : null;
    if (needed.length === 1 && LIBRARY.test(needed[0] ?? '')) return null;
    return STYLE.test(id) || !id.includes('/node_modules/') ? 'app' : 'vendor';
  };
}

/** The files' beginnings (documents' entries and dynamic imports) from which static imports lead to a module. */
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
 * Names in each document the files of its most visited page, which would otherwise be found only after the first
 * ones have run: the library for users, what all pages share for administrators.
 */
export function firstPageIsAskedForEarly(): Plugin {
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

/** Whether a file begins with the player, whose package calls it only by its index. */
export function isPlayer(id: string | null): boolean {
  return id?.endsWith('/stream-client/src/index.ts') ?? false;
}
