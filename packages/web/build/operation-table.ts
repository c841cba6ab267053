import { type Plugin, runnerImport } from 'vite';

/**
 * Replaces src/api/operation-table.ts by its result: the browser needs only method and path of an operation, and the
 * body schemas with their library are a quarter of the user area's size budget.
 */
export function operationTable(): Plugin {
  return {
    name: 'footlight:operation-table',
    apply: 'build',
    async load(id) {
      if (!id.endsWith('/src/api/operation-table.ts')) return null;
      const { module } = await runnerImport<{ operationTable: unknown }>(id, { configFile: false });
      return `export const operationTable = ${JSON.stringify(module.operationTable)};`;
    },
  };
}
