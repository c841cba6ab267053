import { expect, test } from 'vitest';
import { chunkNamer } from './chunks.ts';

const ROUTES = '/w/src/routes';
const LIBRARY = `${ROUTES}/app/_shell.index.tsx?tsr-split=component`;
const SESSION = `${ROUTES}/app.session.$id.tsx?tsr-split=component`;
const LOGIN = `${ROUTES}/login.tsx?tsr-split=component`;
const SETUP = `${ROUTES}/setup.tsx?tsr-split=component`;
const ACCOUNT = `${ROUTES}/app/_shell.account.tsx?tsr-split=component`;
const HOSTS = `${ROUTES}/admin/hosts.index.tsx?tsr-split=component`;
const APPS = `${ROUTES}/admin/apps/index.tsx?tsr-split=component`;

/** Importers of each module; documents and pages have none. */
const IMPORTERS: Record<string, string[]> = {
  '/w/src/entry/main.tsx': ['/w/index.html'],
  '/w/src/start.tsx': ['/w/src/entry/main.tsx'],
  '/w/src/start-sign-in.tsx': ['/w/src/entry/sign-in.tsx'],
  '/w/src/entry/sign-in.tsx': ['/w/sign-in/index.html'],
  '/w/src/account/login-page.tsx': ['/w/src/start-sign-in.tsx', LOGIN],
  '/m/node_modules/react.js': ['/w/src/start.tsx', '/w/src/start-sign-in.tsx', LIBRARY],
  '/m/node_modules/router.js': ['/w/src/start.tsx', LIBRARY],
  '/w/src/library/tile.tsx': [LIBRARY],
  '/w/src/library/library.module.css': [LIBRARY],
  '/w/src/launch/stage.tsx': [LIBRARY, SESSION],
  '/w/src/components/dialog.tsx': [LIBRARY, SESSION, ACCOUNT, HOSTS],
  '/m/node_modules/search.js': [LIBRARY, APPS],
  '/m/node_modules/area.js': [SESSION, APPS],
  '/w/src/session/bar.tsx': [SESSION],
  '/m/node_modules/form.js': [LOGIN, SETUP, ACCOUNT, APPS],
  '/m/node_modules/switch.js': [APPS, HOSTS],
  '/w/src/admin/table.tsx': [APPS],
};

const graph = {
  getModuleInfo: (id: string) => ({
    isEntry: id.endsWith('/index.html'),
    dynamicImporters: id.includes('?tsr-split') ? ['/w/src/route-tree.gen.ts'] : [],
    importers: IMPORTERS[id] ?? [],
  }),
} as unknown as Parameters<ReturnType<typeof chunkNamer>>[1];

test.each([
  ['/w/src/entry/main.tsx', null],
  ['/w/src/start.tsx', 'app'],
  ['/m/node_modules/react.js', 'base'],
  ['/m/node_modules/router.js', 'app'],
  ['/w/src/account/login-page.tsx', 'login'],
  ['/w/src/start-sign-in.tsx', null],
  ['/w/src/library/tile.tsx', null],
  ['/w/src/library/library.module.css', 'base'],
  ['/w/src/launch/stage.tsx', 'stage'],
  ['/w/src/components/dialog.tsx', 'app'],
  ['/m/node_modules/search.js', 'stage'],
  ['/m/node_modules/area.js', 'beside'],
  ['/w/src/session/bar.tsx', null],
  ['/m/node_modules/form.js', 'forms'],
  ['/m/node_modules/switch.js', 'admin-shared'],
  ['/w/src/admin/table.tsx', null],
  [LIBRARY, null],
  [`${ROUTES}/app/_shell.tsx?tsr-split=component`, 'app'],
  [`${ROUTES}/admin.tsx?tsr-split=component`, 'admin-shared'],
])('%s is put into %s', (id, name) => {
  expect(chunkNamer()(id, graph)).toBe(name);
});
