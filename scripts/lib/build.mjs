// Bundles each program into one file. A start then reads a few files instead of a thousand, and no source is compiled
// while apps run.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { digestOf } from './digest.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

const NODE_BANNER = `import { createRequire as footlightRequire } from 'node:module';
import { dirname as footlightDirname } from 'node:path';
import { fileURLToPath as footlightPath } from 'node:url';
const require = footlightRequire(import.meta.url);
const __filename = footlightPath(import.meta.url);
const __dirname = footlightDirname(__filename);`;

/**
 * Packages that are not bundled, because they have native parts or load their own files by name. A package that uses
 * one must list it as a dependency.
 */
const OUTSIDE = [
  'better-sqlite3',
  '@node-rs/argon2',
  'koffi',
  'node-datachannel',
  'pino',
  'thread-stream',
  'pg-native',
  'sharp',
  'x11',
];

/**
 * Modules that dockerode loads for engines behind SSH and for BuildKit, which the agent does not use: they include
 * native parts and two versions of one package. Each is replaced by a module of Node that is loaded but never called.
 */
const UNUSED = {
  ssh2: 'node:util',
  '@grpc/grpc-js': 'node:util',
  '@grpc/proto-loader': 'node:util',
  protobufjs: 'node:util',
};

/**
 * @typedef {object} Bundle
 * @property {string} folder   the package; its sources and built files lie below it
 * @property {string} dist     folder of the built files, below the package
 * @property {string[]} sources folders that the bundle is made of
 * @property {Record<string, string>} programs  built file below dist: its source below src
 * @property {string[]} external
 */

const AGENT_SOURCES = ['node-agent/src', 'packages/gst/src', 'packages/platform/src', 'protocol/src'];

/** @type {Bundle[]} */
const bundles = [
  {
    folder: 'control-plane',
    dist: 'dist',
    sources: ['control-plane/src', 'packages/platform/src', 'protocol/src'],
    programs: {
      'main.js': 'main.ts',
      'backup-main.js': 'backup-main.ts',
      'audit-main.js': 'audit-main.ts',
      'cli-main.js': 'cli-main.ts',
      'upgrade-main.js': 'upgrade-main.ts',
    },
    external: OUTSIDE,
  },
  {
    folder: 'node-agent',
    dist: 'dist',
    sources: AGENT_SOURCES,
    programs: {
      'main.js': 'main.ts',
      'worker-main.js': 'media/worker/worker-main.ts',
      'probe-main.js': 'media/worker/probe-main.ts',
      'recording-main.js': 'media/worker/recording-main.ts',
      'fallback-main.js': 'media/fallback/fallback-main.ts',
      'scan-main.js': 'discovery/scan-main.ts',
      'files-main.js': 'files/files-main.ts',
      'preflight-main.js': 'preflight/preflight-main.ts',
    },
    external: OUTSIDE,
  },
  {
    // This bundle contains all its packages, because the users of sessions may not be able to read a clone.
    folder: 'node-agent',
    dist: 'dist',
    sources: ['node-agent/src/diagnostics-app'],
    programs: { 'diagnostics.mjs': 'diagnostics-app/main.ts' },
    external: [],
  },
];

/**
 * Programs that tests start up to sixty times per file. Without a build, each start would compile the modules that it
 * loads.
 * @type {Bundle}
 */
const testPrograms = {
  folder: 'node-agent',
  dist: 'dist/testing',
  sources: AGENT_SOURCES,
  programs: {
    'collect-process.js': 'sessions/home/collection/testing/collect-process.ts',
    'run-apps.js': 'testing/run-apps.ts',
  },
  external: OUTSIDE,
};

/**
 * Files and folders below a package's dist that the built programs need.
 * @param {string} folder
 */
export function builtFilesOf(folder) {
  return bundles.filter((b) => b.folder === folder).flatMap((b) => Object.keys(b.programs));
}

/** The source folders from which the programs of a package are built. @param {string} folder */
export function sourcesOf(folder) {
  return [...new Set(bundles.filter((b) => b.folder === folder).flatMap((b) => b.sources))];
}

/**
 * Writes a file atomically, because several programs may be built and started at the same time.
 * @param {string} file
 * @param {Uint8Array | string} content
 */
function writeWhole(file, content) {
  const partial = `${file}.${process.pid}`;
  writeFileSync(partial, content);
  renameSync(partial, file);
}

/** Builds the bundles that are older than their sources. @param {string} [folder] only this package */
export const build = (folder) => make(bundles.filter((b) => folder === undefined || b.folder === folder));

/** Builds all programs that tests start as separate processes. */
export const buildForTests = () => make([...bundles, testPrograms]);

/** @param {readonly Bundle[]} wanted */
async function make(wanted) {
  /** @type {typeof import('esbuild') | undefined} */
  let esbuild;
  for (const bundle of wanted) {
    const dist = path.join(root, bundle.folder, bundle.dist);
    const stamp = path.join(dist, `.${Object.keys(bundle.programs)[0]}.digest`);
    const digest = digestOf(root, ['pnpm-lock.yaml', 'scripts/lib/build.mjs', ...bundle.sources]);
    if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) continue;
    mkdirSync(dist, { recursive: true });
    esbuild ??= await import('esbuild');
    for (const [built, source] of Object.entries(bundle.programs)) {
      const result = await esbuild.build({
        entryPoints: [path.join(root, bundle.folder, 'src', source)],
        outfile: path.join(dist, built),
        bundle: true,
        write: false,
        platform: 'node',
        format: 'esm',
        target: 'node20',
        define: { 'process.env.NODE_ENV': '"production"' },
        banner: { js: NODE_BANNER },
        external: bundle.external,
        alias: UNUSED,
        // Whitespace and comments are removed: comments of libraries are a third of the bundle, and a few non-ASCII
        // letters in them double its size in memory. Names and line breaks are kept for stack traces.
        minifyWhitespace: true,
        lineLimit: 160,
        sourcemap: 'linked',
        logLevel: 'error',
      });
      for (const file of result.outputFiles) writeWhole(file.path, file.contents);
    }
    writeWhole(stamp, digest);
  }
  // Stopped, because esbuild's service process would otherwise run as long as this process.
  await esbuild?.stop();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await build(process.argv[2]).catch((error) => {
    // The compiler has already printed the errors in the sources.
    if (!('errors' in error)) throw error;
    process.exit(1);
  });
}
