import { readFileSync } from 'node:fs';
import { ERRORS, type Operation, type OperationId, operations } from '@footlight/protocol/rest';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { openApiDocument, referenceText } from './document.ts';
import { createComponents } from './schemas.ts';

const document = openApiDocument() as {
  tags: { name: string }[];
  paths: { [path: string]: { [method: string]: DescribedOperation } };
  components: { schemas: { [name: string]: { properties: Record<string, unknown> } } };
};
interface DescribedOperation {
  operationId: string;
  tags: string[];
  security: { [scheme: string]: unknown }[];
  responses: { [status: string]: { description: string } };
}
const all = Object.entries(operations) as [OperationId, Operation][];

describe('the published contract', () => {
  test('equals docs/openapi.json; scripts/openapi regenerates it', () => {
    const copy = readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8');
    // Compare the texts as a whole, because Vitest needs minutes to compute the difference of two long texts.
    if (copy !== referenceText()) expect(JSON.parse(copy)).toEqual(document);
    expect(copy === referenceText()).toBe(true);
  });

  test('holds every operation, and no other', () => {
    const described = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    expect(described.sort()).toEqual(Object.keys(operations).sort());
  });

  test.each(all)('%s: every code that callers may see stands under its status', (_, operation) => {
    const described = document.paths[operation.path]?.[operation.method.toLowerCase()];
    if (described === undefined) throw new Error('it is not described');
    for (const code of operation.errors) {
      const answer = described.responses[ERRORS[code].status];
      if (answer?.description.includes(`\`${code}\`: `)) continue;
      // 503 means temporarily unavailable, not a defect.
      expect(described.responses[503]?.description ?? '', code).toContain(`\`${code}\`: `);
    }
    expect(described.security.length).toBe(operation.auth === 'public' ? 0 : 1);
    expect(document.tags.map(({ name }) => name)).toContain(described.tags[0]);
  });

  test('explains every error code', () => {
    const text = JSON.stringify(document.components.schemas.Error);
    for (const code of Object.keys(ERRORS)) expect(text).toContain(`| \`${code}\` |`);
  });

  test('lets answers grow and keeps requests strict', () => {
    const text = JSON.stringify(document.components.schemas.Host);
    expect(text).not.toContain('additionalProperties');
    expect(document.components.schemas.StreamRequest).toHaveProperty('additionalProperties', false);
  });

  test('marks what is going away', () => {
    expect(document.components.schemas.Gpu?.properties.vram_mb_reserved).toHaveProperty('deprecated', true);
  });
});

describe('named schemas', () => {
  test('are refused where two of one name differ', () => {
    const components = createComponents();
    const named = z.object({ a: z.string() }).meta({ id: 'A' });
    const other = z.object({ a: z.int() }).meta({ id: 'A' });
    components.schemaOf(z.array(named), 'output');
    expect(() => components.schemaOf(z.array(other), 'output')).toThrow('two schemas go by the name A');
  });
});
