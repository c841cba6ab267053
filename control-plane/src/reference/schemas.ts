import { z } from 'zod';

/** A JSON Schema of draft 2020-12, as in OpenAPI 3.1. */
export type JsonSchema = { [keyword: string]: unknown };

/** Collects named schemas, so that each appears once in the document. */
export interface Components {
  /**
   * The schema of data sent to the service (input) or back (output), with references to named schemas.
   * @throws when two different schemas have the same name
   */
  schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema;
  /** All named schemas that were collected, by name. */
  all(): { [name: string]: JsonSchema };
}

export function createComponents(): Components {
  const named = new Map<string, JsonSchema>();

  function keep(name: string, schema: JsonSchema): void {
    const known = named.get(name);
    if (known === undefined) named.set(name, schema);
    else if (JSON.stringify(known) !== JSON.stringify(schema))
      throw new Error(
        `two schemas go by the name ${name}; what is asked and what is answered need a name each`,
      );
  }

  return {
    schemaOf(schema, io) {
      const { $schema, $defs, ...root } = z.toJSONSchema(schema, {
        io,
        unrepresentable: 'any',
        override: ({ jsonSchema }) => tidy(jsonSchema as JsonSchema, io),
      }) as JsonSchema;
      for (const [name, definition] of Object.entries($defs ?? {}))
        keep(name, pointAtComponents(definition) as JsonSchema);
      return pointAtComponents(root) as JsonSchema;
    },
    all: () => Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** Removes patterns that repeat a format, and in answers the rule that forbids additional properties. */
function tidy(schema: JsonSchema, io: 'input' | 'output'): void {
  delete schema.id;
  if (io === 'output' && schema.additionalProperties === false) delete schema.additionalProperties;
  if (schema.format === 'uuid' || schema.format === 'date-time') delete schema.pattern;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (isPlainString(schema.propertyNames)) delete schema.propertyNames;
}

function isPlainString(schema: unknown): boolean {
  return JSON.stringify(schema) === '{"type":"string"}';
}

function pointAtComponents(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pointAtComponents);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === '$ref' && typeof item === 'string'
        ? item.replace('#/$defs/', '#/components/schemas/')
        : pointAtComponents(item),
    ]),
  );
}
