import { resolve } from 'node:path';
import { tanstackRouter } from '@tanstack/router-plugin/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { isAdminModule, separateAdminFiles } from './build/areas.ts';
import { catalogs } from './build/catalogs.ts';
import { chunkNamer, isPlayer, preloadFirstPage } from './build/chunks.ts';
import { compressedFiles } from './build/compressed.ts';
import { schemaFacts } from './build/schema-facts.ts';
import { straightImports } from './build/straight-imports.ts';

const here = import.meta.dirname;

// Three documents. index.html (for people who use apps) and admin/index.html (for administrators) share one route tree.
// sign-in/index.html is for the pages before sign-in, which need no router. The server sends files below /admin/ to
// enabled administrators only, so every module of the admin area must be there, and no module of the user area.
export default defineConfig({
  root: here,
  plugins: [
    tanstackRouter({
      target: 'react',
      autoCodeSplitting: true,
      routesDirectory: './src/routes',
      generatedRouteTree: './src/route-tree.gen.ts',
      quoteStyle: 'single',
      semicolons: true,
      routeFileIgnorePattern: '\\.(test|module)\\.',
    }),
    react(),
    catalogs(),
    straightImports(),
    schemaFacts(),
    separateAdminFiles(),
    preloadFirstPage(),
    compressedFiles(),
  ],
  build: {
    manifest: true,
    target: 'es2023',
    // Pictures stay files: the policy would allow data: URLs, but a file is cached by its hash forever.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: {
        main: resolve(here, 'index.html'),
        'sign-in': resolve(here, 'sign-in/index.html'),
        admin: resolve(here, 'admin/index.html'),
      },
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [{ debugName: 'shared', name: chunkNamer() }],
        },
        entryFileNames: (chunk) => `${folderOf(chunk)}[name]-[hash].js`,
        chunkFileNames: (chunk) =>
          isPlayer(chunk.facadeModuleId) ? 'assets/player-[hash].js' : `${folderOf(chunk)}[name]-[hash].js`,
        // A style file has the name of its chunk; the name of every admin chunk starts with "admin".
        assetFileNames: (asset) =>
          asset.names.some((name) => name.startsWith('admin'))
            ? 'admin/assets/[name]-[hash][extname]'
            : 'assets/[name]-[hash][extname]',
      },
    },
  },
});

function folderOf(chunk: { name: string; moduleIds: string[] }): string {
  return chunk.name.startsWith('admin') || chunk.moduleIds.some(isAdminModule) ? 'admin/assets/' : 'assets/';
}
