import { type Plugin, runnerImport } from 'vite';

/** Modules that read facts from the schemas. */
const READERS = /\/src\/(api\/operation-table|admin\/frame\/(admin-operation-table|body-bounds))\.ts$/;

/**
 * Replaces each module that reads the schemas with the facts that it reads. The browser needs only the method and path
 * of an operation and the bounds of some fields. The schemas and their library would take a quarter of the user area's
 * size limit.
 */
export function schemaFacts(): Plugin {
  return {
    name: 'footlight:schema-facts',
    apply: 'build',
    async load(id) {
      if (!READERS.test(id)) return null;
      const { module } = await runnerImport<Record<string, unknown>>(id, { configFile: false });
      return Object.entries(module)
        .map(([name, facts]) => `export const ${name} = ${JSON.stringify(facts)};`)
        .join('\n');
    },
  };
}
