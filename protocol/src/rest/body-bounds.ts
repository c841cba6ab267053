import { z } from 'zod';
import type { BodyDeclaration } from './operation.ts';

/**
 * Bounds of a field, named as in JSON Schema. Lengths are numbers of Unicode code points; a missing bound means no
 * limit.
 */
export interface Bounds {
  /** `integer` for whole numbers. */
  readonly type?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly multipleOf?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}
type Keyword = keyof Bounds;
const KEYWORDS: readonly Keyword[] = [
  'type',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'multipleOf',
  'maxLength',
  'pattern',
];

/** Bounds by field name. For a field that is an object, the entry contains the bounds of its own fields. */
interface FieldBounds {
  readonly [field: string]: Bounds | FieldBounds;
}

interface JsonSchema extends Bounds {
  readonly $ref?: string;
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

/**
 * Bounds of the fields of an operation's body, as plain data, so that a page can check a form without loading the
 * schemas and their library.
 */
export function boundsOfBody(body: BodyDeclaration): FieldBounds {
  const root: JsonSchema = z.toJSONSchema(body.schema, {
    io: 'input',
    unrepresentable: 'any',
  }) as JsonSchema;

  function boundsOf(schema: JsonSchema): Bounds | FieldBounds {
    const named = root.$defs?.[schema.$ref?.replace('#/$defs/', '') ?? ''];
    if (named !== undefined) return boundsOf(named);
    // null is a way to leave a field out, so the bounds of the other type are used.
    const choice = schema.anyOf?.find(({ type }) => type !== 'null');
    if (choice !== undefined) return boundsOf(choice);
    if (schema.properties !== undefined) return fieldsOf(schema.properties);
    return Object.fromEntries(
      KEYWORDS.flatMap((key) => (schema[key] === undefined ? [] : [[key, schema[key]]])),
    );
  }

  function fieldsOf(properties: Readonly<Record<string, JsonSchema>>): FieldBounds {
    return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, boundsOf(schema)]));
  }

  return fieldsOf(root.properties ?? {});
}
