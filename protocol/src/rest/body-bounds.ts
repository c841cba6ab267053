import { z } from 'zod';
import type { BodyDeclaration } from './operation.ts';

/** Bounds of a field, named as in JSON Schema. Lengths are Unicode code points; a missing bound does not exist. */
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

/** Bounds by field; the field of an object has those of its own fields. */
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
 * Bounds of the fields of an operation's body. They are plain data, so a page can check a form without the schemas and
 * their library.
 */
export function boundsOfBody(body: BodyDeclaration): FieldBounds {
  const root: JsonSchema = z.toJSONSchema(body.schema, {
    io: 'input',
    unrepresentable: 'any',
  }) as JsonSchema;

  function boundsOf(schema: JsonSchema): Bounds | FieldBounds {
    const named = root.$defs?.[schema.$ref?.replace('#/$defs/', '') ?? ''];
    if (named !== undefined) return boundsOf(named);
    // null stands for a left-out field.
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
