/** The flags of an operation, derived from its declared schemas. Pure. */
import type { Operation } from '@footlight/protocol/rest';
import { z } from 'zod';

/** How a flag's text becomes a value. `secret`: the flag names a file, and the value is never an argument. */
type FlagKind = 'boolean' | 'text' | 'number' | 'list' | 'json' | 'secret';

/** One member of an operation's path, query or body. */
export interface OperationFlag {
  /** As the contract spells it. */
  readonly field: string;
  /** Long form without dashes, such as `host-id`. A secret ends with `-file`. */
  readonly name: string;
  readonly place: 'path' | 'query' | 'body';
  readonly kind: FlagKind;
  /** Type of the entries of a list. */
  readonly entries: 'text' | 'number';
  readonly choices: readonly string[] | null;
  readonly isRequired: boolean;
  readonly description: string;
}

interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

/** Names of members that are passwords or tokens. Each is read from a file, because all users see arguments. */
const SECRET_FIELD = /^(?:(?:current_|new_)?password|token|secret|invite_code|answer)$/;
/** Secrets whose members have ordinary names. */
const SECRET_FIELDS_OF: Readonly<Record<string, readonly string[]>> = { 'secrets.set': ['value'] };

/** Members of an operation's request whose values are secrets. */
const isSecret = (operation: Operation, field: string): boolean =>
  SECRET_FIELD.test(field) || (SECRET_FIELDS_OF[operation.id] ?? []).includes(field);

/** Whether the JSON of a body contains a secret, so that it may not be an argument either. */
export const hasSecretBody = (operation: Operation): boolean =>
  flagsOf(operation).some(({ place, kind }) => place === 'body' && kind === 'secret');

const known = new WeakMap<Operation, OperationFlag[]>();

/** All flags: path parameters in the order of the path, then the query, then the body. */
export function flagsOf(operation: Operation): OperationFlag[] {
  // Cached, because the conversion of all schemas takes a third of a start.
  const flags = known.get(operation) ?? deriveFlags(operation);
  known.set(operation, flags);
  return flags;
}

function deriveFlags(operation: Operation): OperationFlag[] {
  const order = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
  const ofPath = flagsFrom(operation, 'path', operation.params);
  const flags = [
    ...order.flatMap((name) => ofPath.filter(({ field }) => field === name)),
    ...flagsFrom(operation, 'query', operation.query),
    ...flagsFrom(operation, 'body', operation.body?.schema),
  ];
  // A body may have a member with the name of a path parameter.
  return flags.map((flag, index) =>
    flags.findIndex(({ name }) => name === flag.name) === index
      ? flag
      : { ...flag, name: `${flag.place}-${flag.name}` },
  );
}

function flagsFrom(
  operation: Operation,
  place: OperationFlag['place'],
  schema: z.ZodType | undefined,
): OperationFlag[] {
  if (schema === undefined) return [];
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  return Object.entries(root.properties ?? {}).map(([field, declared]) => {
    const plain = plainSchema(declared, root);
    const kind = isSecret(operation, field) ? 'secret' : kindOf(plain, place);
    const entry = plainSchema(plain.items ?? {}, root);
    const choices = kind === 'list' ? entry.enum : plain.enum;
    const dashed = field.replaceAll('_', '-');
    return {
      field,
      name: kind === 'secret' ? `${dashed}-file` : dashed,
      place,
      kind,
      entries: isNumber(entry) ? 'number' : 'text',
      choices: choices === undefined ? null : choices.filter((choice) => choice !== null).map(String),
      isRequired: place === 'path' || (root.required ?? []).includes(field),
      description: declared.description ?? plain.description ?? '',
    };
  });
}

/** The schema of the values other than null, without a reference. */
function plainSchema(schema: JsonSchema, root: JsonSchema): JsonSchema {
  const named = root.$defs?.[schema.$ref?.replace('#/$defs/', '') ?? ''];
  if (named !== undefined) return plainSchema(named, root);
  const others = schema.anyOf?.filter(({ type }) => type !== 'null') ?? [];
  if (others.length === 1 && others[0] !== undefined) return plainSchema(others[0], root);
  const types = [schema.type].flat().filter((type) => type !== undefined && type !== 'null');
  return types.length === 1 && types[0] !== undefined ? { ...schema, type: types[0] } : schema;
}

const isNumber = ({ type }: JsonSchema): boolean => type === 'integer' || type === 'number';

function kindOf(schema: JsonSchema, place: OperationFlag['place']): FlagKind {
  // The values of a path and a query are texts.
  if (place !== 'body') return 'text';
  if (schema.type === 'boolean') return 'boolean';
  if (isNumber(schema)) return 'number';
  if (schema.type === 'string') return 'text';
  const { items } = schema;
  if (schema.type === 'array' && items !== undefined && (items.type === 'string' || isNumber(items)))
    return 'list';
  return 'json';
}

/** Converts the text of a flag. @throws SyntaxError with what the flag takes */
export function parseValue(flag: OperationFlag, text: string): unknown {
  if (flag.kind === 'number') return numberOf(text);
  if (flag.kind === 'list') return flag.entries === 'number' ? numberOf(text) : text;
  if (flag.kind === 'json') return JSON.parse(text) as unknown;
  return text;
}

function numberOf(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new SyntaxError('It takes a number.');
  return value;
}
