import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Text of a file of the repository. */
export const read = (file: string) => readFileSync(path.join(root, file), 'utf8');

/** All files below a folder of the repository, without installed packages and built programs. */
export function below(folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules' && name !== 'dist')
    .flatMap((entry) => {
      const file = path.join(folder, entry.name);
      return entry.isDirectory() ? below(file) : [file];
    });
}

/** Names of all variables of the control plane. */
export const controlVariables = () =>
  new Set(
    [...read('control-plane/src/platform/config/variables.ts').matchAll(/^ {2}([A-Z0-9_]+): /gm)].map(
      ([, name]) => name ?? '',
    ),
  );

/** A source module with its path in the repository. */
export interface Module {
  path: string;
  text: string;
  imports: Import[];
}

export interface Import {
  /** Path in the repository; for a package, its name. */
  from: string;
  /** Imported names; empty: the module is imported as a whole. */
  names: string[];
  /** Whether the compiler removes the import, because it imports only types. */
  isType: boolean;
}

const IMPORT =
  /^(?:import|export)\s+(type\s+)?(?:([\w*${}\s,]+?)\s+from\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm;

export function moduleOf(file: string, text: string): Module {
  const imports = [...text.matchAll(IMPORT)].map(([, type, names = '', from = '', lazy = '']) => {
    const specifiers = names.replace(/[{}]/g, ',').split(',');
    const given = specifiers.map((name) => name.trim()).filter((name) => name !== '');
    const target = from || lazy;
    return {
      from: target.startsWith('.') ? path.join(path.dirname(file), target) : target,
      names: given.map((name) => name.replace(/^type |\s+as\s+.*$/g, '')),
      isType: type !== undefined || (given.length > 0 && given.every((name) => name.startsWith('type '))),
    };
  });
  return { path: file, text, imports };
}

/** The product's modules below a folder, without tests. */
export function modulesBelow(folder: string): Module[] {
  return below(folder)
    .filter((file) => /\.tsx?$/.test(file) && !/\.(test|gen)\.tsx?$/.test(file))
    .map((file) => moduleOf(file, read(file)));
}

const DOCSTRING = /\/\*\*[\s\S]*?\*\//g;

/** Whether a docstring of a module contains the word "pure". */
export const claimsPure = ({ text }: Module) =>
  text.match(DOCSTRING)?.some((comment) => /\bpure\b/i.test(comment)) ?? false;
