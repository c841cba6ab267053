/**
 * The contract as OpenAPI 3.1, generated from the protocol's declarations. Pure: the same declarations give the same
 * text in the same order.
 */
import {
  areas,
  type BodyDeclaration,
  CONTRACT_VERSION,
  DEFAULT_BODY_BYTES,
  ERRORS,
  type ErrorCode,
  errorEnvelope,
  type Operation,
} from '@footlight/protocol/rest';
import type { z } from 'zod';
import { type Components, createComponents, type JsonSchema } from './schemas.ts';
import { type DeclaredError, INTRODUCTION, inBytes, refusalsOf, SCHEMES, SUCCESS } from './words.ts';

type Json = { [key: string]: unknown };

const EVENT_STREAM = 'text/event-stream';
const CLIENT_VERSION = 'ClientVersion';
const RETRY_AFTER = 'RetryAfter';
/** Extra members of some error codes. */
const ERROR_EXTRAS: { readonly [Code in ErrorCode]?: { inside?: Json; beside?: Json } } = {
  restart_required: { inside: { live_sessions: 2 } },
  home_in_use: { inside: { session_id: 'b4e1c7a0-5f2d-4c83-a6b9-0d7e31f8c254' } },
  client_too_old: { beside: { min_client_version: '1.4.0', latest_client_version: '1.6.2' } },
};

/** @returns the document, to be written as JSON */
export function openApiDocument(): Json {
  const components = createComponents();
  const paths: { [path: string]: Json } = {};
  const filled = areas.filter((area) => Object.keys(area.operations).length > 0);
  for (const area of filled) {
    for (const operation of Object.values<Operation>(area.operations)) {
      const described = { tags: [area.name], ...describeOperation(operation, components) };
      paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: described };
    }
  }
  const codes = new Set(
    filled.flatMap((area) => Object.values<Operation>(area.operations).flatMap(({ errors }) => errors)),
  );
  const error = describeError(components);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Footlight',
      version: CONTRACT_VERSION,
      summary: 'Streams apps from GPU hosts into a browser.',
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'This service.' }],
    tags: filled.map(({ name, summary }) => ({ name, description: summary })),
    paths,
    components: {
      securitySchemes: Object.fromEntries(
        Object.values(SCHEMES).flatMap((proof) => (proof ? [[proof.name, proof.scheme]] : [])),
      ),
      parameters: {
        [CLIENT_VERSION]: {
          name: 'X-Service-Client-Version',
          in: 'header',
          description: 'Version of the client, such as 1.4.0. Left out: not checked.',
          schema: { type: 'string' },
        },
      },
      headers: {
        [RETRY_AFTER]: {
          description: 'Seconds after which the request may be repeated.',
          schema: { type: 'integer', minimum: 1 },
        },
      },
      examples: errorExamples(codes),
      schemas: { ...components.all(), Error: error },
    },
  };
}

/** The error envelope, with the meaning of each code. */
function describeError(components: Components): JsonSchema {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, message }]) => `| \`${code}\` | ${status} | ${message} |`,
  );
  const code = {
    type: 'string',
    description: [
      'What is wrong, for programs. The list grows; go by the status where a code is new to you.',
      ['| Code | Status | Meaning |', '| --- | --- | --- |', ...rows].join('\n'),
      '`internal` comes with 503 where a part of the service is temporarily unavailable, `validation_failed` with 413 for a file that is too long.',
    ].join('\n\n'),
    examples: Object.keys(ERRORS),
  };
  const envelope = components.schemaOf(errorEnvelope, 'output') as {
    properties: { error: { properties: Json } };
  };
  envelope.properties.error.properties.code = code;
  return envelope;
}

function describeOperation(operation: Operation, components: Components): Json {
  const proof = SCHEMES[operation.auth];
  const description = [
    operation.auth === 'admin' && 'For administrators.',
    operation.onlyWith &&
      `Only where the operator has set \`${operation.onlyWith}\`; elsewhere the path answers 404.`,
    operation.description,
  ].filter((part) => typeof part === 'string');
  const parameters = describeParameters(operation, components);
  return {
    operationId: operation.id,
    summary: operation.summary,
    ...(description.length > 0 && { description: description.join('\n\n') }),
    ...(operation.deprecated && { deprecated: true }),
    security: proof ? [{ [proof.name]: [] }] : [],
    ...(parameters.length > 0 && { parameters }),
    ...describeRequestBody(operation, components),
    responses: {
      ...describeRefusals(operation),
      // A status with its own schema is an answer, not a refusal.
      ...Object.fromEntries(
        Object.entries(operation.responses).map(([status, schema]) => [
          status,
          describeSuccess(operation, Number(status), schema, components),
        ]),
      ),
    },
  };
}

function describeParameters(operation: Operation, components: Components): Json[] {
  const from = (place: 'path' | 'query', schema: Operation['params']): Json[] => {
    if (!schema) return [];
    const { properties = {}, required = [] } = components.schemaOf(schema, 'input') as {
      properties?: { [name: string]: JsonSchema };
      required?: string[];
    };
    return Object.entries(properties).map(([name, { description, deprecated, ...rest }]) => ({
      name,
      in: place,
      ...(description !== undefined && { description }),
      ...(deprecated === true && { deprecated }),
      ...((place === 'path' || required.includes(name)) && { required: true }),
      schema: rest,
      ...exampleOf(operation.example?.[place === 'path' ? 'params' : 'query']?.[name], rest),
    }));
  };
  const proof = SCHEMES[operation.auth]?.scheme;
  const bearer = operation.auth === 'user' || operation.auth === 'admin';
  return [
    ...from('path', operation.params),
    // A credential in the query is described by its security scheme.
    ...from('query', operation.query).filter(({ name }) => proof?.in !== 'query' || name !== proof.name),
    ...(bearer && operation.versionGated !== false
      ? [{ $ref: `#/components/parameters/${CLIENT_VERSION}` }]
      : []),
  ];
}

/** Example value of a parameter, converted from its text in the path or query. */
function exampleOf(text: string | undefined, schema: JsonSchema): Json {
  if (text === undefined) return {};
  const isText = schema.type !== 'integer' && schema.type !== 'boolean';
  return { example: isText ? text : JSON.parse(text) };
}

function describeRequestBody(operation: Operation, components: Components): Json {
  const { upload } = operation;
  if (upload) {
    const description = `The bytes of one file, at most ${inBytes(upload.defaultMaxBytes)} where the operator sets no other cap.`;
    return { requestBody: { description, required: true, content: { [upload.mediaType]: {} } } };
  }
  if (!operation.body) return {};
  return {
    requestBody: {
      description: describeBody(operation.body),
      required: operation.body.optional !== true,
      content: {
        'application/json': {
          schema: components.schemaOf(operation.body.schema, 'input'),
          ...(operation.example?.body !== undefined && { example: operation.example.body }),
        },
      },
    },
  };
}

function describeBody({ maxBytes, optional, unknownKeys }: BodyDeclaration): string {
  return [
    `JSON of at most ${inBytes(maxBytes ?? DEFAULT_BODY_BYTES)}.`,
    ...(optional ? ['Empty counts as `{}`.'] : []),
    ...(unknownKeys ? [`Keys that are not named here are ${unknownKeys}.`] : []),
  ].join(' ');
}

function describeSuccess(
  operation: Operation,
  status: number,
  schema: z.ZodType | null,
  components: Components,
): Json {
  const headers = Object.entries(operation.headers ?? {});
  return {
    description: SUCCESS[status] ?? 'Done.',
    ...(headers.length > 0 && {
      headers: Object.fromEntries(
        headers.map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
      ),
    }),
    ...(schema && { content: describeContent(operation, schema, components) }),
  };
}

function describeContent(operation: Operation, answer: z.ZodType, components: Components): Json {
  const schema = components.schemaOf(answer, 'output');
  const example = operation.example?.response;
  if (operation.contentType === EVENT_STREAM) {
    return {
      [EVENT_STREAM]: {
        schema: {
          type: 'string',
          description: 'Server-sent events; the data of each is JSON.',
          contentMediaType: 'application/json',
          contentSchema: schema,
        },
        example: `event: session\ndata: ${JSON.stringify(example)}\n\n`,
      },
    };
  }
  return {
    [operation.contentType ?? 'application/json']: {
      schema,
      // An operation with several answers has one example; add it only to the answer whose schema it matches.
      ...(answer.safeParse(example).success && { example }),
    },
  };
}

function describeRefusals(operation: Operation): Json {
  const byStatus = new Map<number, DeclaredError[]>();
  for (const refusal of refusalsOf(operation))
    byStatus.set(refusal.status, [...(byStatus.get(refusal.status) ?? []), refusal]);
  return Object.fromEntries(
    [...byStatus].map(([status, refusals]) => [status, describeRefusal(status, refusals)]),
  );
}

function describeRefusal(status: number, refusals: readonly DeclaredError[]): Json {
  const codes = new Set(refusals.map(({ code }) => code));
  return {
    description: refusals.map(({ code, when }) => `- \`${code}\`: ${when}`).join('\n'),
    ...((status === 429 || status === 503) && {
      headers: { 'Retry-After': { $ref: `#/components/headers/${RETRY_AFTER}` } },
    }),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(
          [...codes].map((code) => [code, { $ref: `#/components/examples/${code}` }]),
        ),
      },
    },
  };
}

/** One example for each error code. */
function errorExamples(codes: Iterable<ErrorCode>): Json {
  return Object.fromEntries(
    [...codes].sort().map((code) => [
      code,
      {
        summary: code,
        value: {
          error: { code, message: ERRORS[code].message, ...ERROR_EXTRAS[code]?.inside },
          ...ERROR_EXTRAS[code]?.beside,
        },
      },
    ]),
  );
}

/** The published text: pretty-printed, in stable order. */
export function referenceText(): string {
  return `${JSON.stringify(openApiDocument(), null, 2)}\n`;
}
