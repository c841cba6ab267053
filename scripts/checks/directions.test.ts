import { describe, expect, test } from 'vitest';
import { type Module, moduleOf, modulesBelow, read } from './modules.ts';

/** Folders and files of a package, in the order of docs/design.md. Each may import the entries before it. */
interface Order {
  root: string;
  places: string[];
}

function orderIn(page: string, root: string): Order {
  const line = page.split('\n').find((each) => each.startsWith(`- In \`${root}\``)) ?? '';
  return { root, places: (/: `([^`]+)`/.exec(line)?.[1] ?? '').split(' ') };
}

/**
 * The layer of a module: the longest entry that matches its path. undefined: the module is above all layers and may
 * import everything.
 */
function placeOf(path: string, { root, places }: Order): string | undefined {
  const below = path.slice(root.length + 1);
  const fitting = places.filter((place) => below === place || below.startsWith(`${place}/`));
  return fitting.sort((a, b) => b.length - a.length)[0];
}

/** Imports that violate the order, and folders that the order does not contain. */
function againstOrder(modules: readonly Module[], order: Order): string[] {
  return modules.flatMap(({ path, imports }) => {
    const own = placeOf(path, order);
    if (own === undefined) {
      const isTop = !path.slice(order.root.length + 1).includes('/');
      return isTop ? [] : [`${path} lies in a folder without a place in the order`];
    }
    return imports
      .filter(({ from }) => from.startsWith(`${order.root}/`))
      .filter(({ from }) => {
        const target = placeOf(from, order);
        return target === undefined || order.places.indexOf(target) > order.places.indexOf(own);
      })
      .map(({ from }) => `${path} imports ${from}, which comes after it`);
  });
}

const CONTROL_PLANE = 'control-plane/src';

/** Imports between features that bypass the imported feature's index.ts, and imports of features in `platform`. */
function acrossFeatures(modules: readonly Module[]): string[] {
  const featureOf = (path: string) => path.slice(CONTROL_PLANE.length + 1).split('/');
  return modules.flatMap(({ path, imports }) => {
    const [own, ...rest] = featureOf(path);
    if (rest.length === 0) return [];
    return imports
      .filter(({ from }) => from.startsWith(`${CONTROL_PLANE}/`))
      .filter(({ from }) => {
        const [other, ...file] = featureOf(from);
        if (other === own || file.length === 0) return false;
        return own === 'platform' || (other !== 'platform' && file.join('/') !== 'index.ts');
      })
      .map(({ from }) =>
        own === 'platform'
          ? `${path} imports ${from}, but platform imports no feature`
          : `${path} imports ${from}, but a feature is imported by its index.ts`,
      );
  });
}

/** Modules of the product. Helpers of tests are excluded, because they may import everything. */
const product = (root: string) => modulesBelow(root).filter(({ path }) => !/\/testing\//.test(path));

describe('imports inside a package point one way', () => {
  test.each(['node-agent/src', 'packages/web/src'])('%s keeps the order of docs/design.md', (root) => {
    const order = orderIn(read('docs/design.md'), root);
    expect(order.places.length).toBeGreaterThan(5);
    expect(againstOrder(product(root), order)).toEqual([]);
  });

  test('features of the control plane import platform, and each other by index.ts', () => {
    expect(acrossFeatures(product(CONTROL_PLANE))).toEqual([]);
  });
});

describe('an import against the direction is found', () => {
  const order = orderIn(
    '- In `agent/src` a folder imports those before it: `platform media media/late sessions`.',
    'agent/src',
  );

  test.each([
    ['media/frame.ts', '../sessions/session.ts', 'agent/src/sessions/session.ts'],
    ['media/frame.ts', './late/pool.ts', 'agent/src/media/late/pool.ts'],
    ['platform/names.ts', '../main.ts', 'agent/src/main.ts'],
  ])('%s imports %s', (file, specifier, target) => {
    const module = moduleOf(`agent/src/${file}`, `import type { A } from '${specifier}';`);
    expect(againstOrder([module], order)).toEqual([
      `agent/src/${file} imports ${target}, which comes after it`,
    ]);
  });

  test('a folder that the order lacks', () => {
    expect(againstOrder([moduleOf('agent/src/attic/old.ts', '')], order)).toEqual([
      'agent/src/attic/old.ts lies in a folder without a place in the order',
    ]);
  });

  test.each([
    ['sessions/session.ts', '../media/frame.ts'],
    ['media/late/pool.ts', '../frame.ts'],
    ['main.ts', './sessions/session.ts'],
  ])('%s may import %s', (file, specifier) => {
    const module = moduleOf(`agent/src/${file}`, `import { a } from '${specifier}';`);
    expect(againstOrder([module], order)).toEqual([]);
  });

  test.each([
    [
      'platform/http/server.ts',
      '../../accounts/index.ts',
      'control-plane/src/accounts/index.ts, but platform imports no feature',
    ],
    [
      'sessions/launch/service.ts',
      '../../fleet/hosts/store.ts',
      'control-plane/src/fleet/hosts/store.ts, but a feature is imported by its index.ts',
    ],
  ])('%s imports %s', (file, specifier, message) => {
    const path = `${CONTROL_PLANE}/${file}`;
    expect(acrossFeatures([moduleOf(path, `import { a } from '${specifier}';`)])).toEqual([
      `${path} imports ${message}`,
    ]);
  });
});
