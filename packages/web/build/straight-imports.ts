import { readFile } from 'node:fs/promises';
import type { Plugin } from 'vite';

/** Packages with one index of all components. */
const INDEXED = ['@mantine/core', '@tabler/icons-react'];
const IMPORT = /^import \{([^}]*)\} from '([^']+)';/gm;

interface Target {
  file: string;
  exported: string;
}

/**
 * Imports each component from its own file instead of the package's index. With the index, every page would depend on
 * every component, so components could not be assigned to pages.
 */
export function straightImports(): Plugin {
  const indexes = new Map<string, Map<string, Target>>();
  return {
    name: 'footlight:straight-imports',
    apply: 'build',
    enforce: 'pre',
    async transform(code, id) {
      if (id.includes('/node_modules/') || !/\.tsx?(\?|$)/.test(id)) return null;
      for (const name of INDEXED) {
        if (indexes.has(name) || !code.includes(`'${name}'`)) continue;
        const index = await this.resolve(name, id);
        if (index === null) this.error(`${name} was not found`);
        indexes.set(name, namesIn(await readFile(index.id, 'utf8'), index.id));
      }
      return { code: withStraightImports(code, indexes), map: null };
    },
  };
}

/**
 * Splits each import from an indexed package into one import per file. If the index re-exports a name from another
 * package, this name is still imported from the index.
 */
export function withStraightImports(
  code: string,
  indexes: ReadonlyMap<string, ReadonlyMap<string, Target>>,
): string {
  return code.replace(IMPORT, (statement, list: string, from: string) => {
    const index = indexes.get(from);
    if (index === undefined) return statement;
    const specifiers = list
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== '' && !each.startsWith('type '));
    return specifiers
      .map((specifier) => {
        const [name = '', local = name] = specifier.split(/\s+as\s+/);
        const target = index.get(name);
        if (target === undefined) return `import { ${specifier} } from '${from}';`;
        return `import { ${target.exported} as ${local} } from '${target.file}';`;
      })
      .join(' ');
  });
}

/**
 * Maps each name in an index to its file.
 * @param at path of the index
 */
export function namesIn(index: string, at: string): Map<string, Target> {
  const names = new Map<string, Target>();
  for (const [, list = '', path = ''] of index.matchAll(
    /^(?:import|export) \{([^}]*)\} from ["'](\.[^"']+)["']/gm,
  )) {
    const file = new URL(path, `file://${at}`).pathname;
    for (const specifier of list.split(',')) {
      const [exported = '', local = exported] = specifier.trim().split(/\s+as\s+/);
      if (exported !== '') names.set(local, { file, exported });
    }
  }
  return names;
}
