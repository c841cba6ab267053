import type { z } from 'zod';
import { accountOperations } from './accounts.ts';
import { catalogOperations } from './catalog.ts';
import { fleetOperations } from './fleet.ts';
import { serviceOperations } from './service.ts';
import { sessionOperations } from './sessions.ts';
import { setupOperations } from './setup.ts';

/**
 * Every HTTP operation, declared once: the server registers its handlers against this record, the web app's
 * client is typed by it, and one test walks it.
 */
export const operations = {
  ...serviceOperations,
  ...setupOperations,
  ...accountOperations,
  ...catalogOperations,
  ...fleetOperations,
  ...sessionOperations,
} as const;

export type Operations = typeof operations;
export type OperationId = keyof Operations;

type Nothing = Record<never, never>;

/** Path parameters as a handler gets them, after parsing. */
export type Params<Id extends OperationId> = Operations[Id] extends { params: infer S extends z.ZodType }
  ? z.output<S>
  : Nothing;
/** Query as a handler gets it, after parsing. */
export type Query<Id extends OperationId> = Operations[Id] extends { query: infer S extends z.ZodType }
  ? z.output<S>
  : Nothing;
/** Body as a handler gets it, after parsing; undefined where the operation takes none. */
export type Body<Id extends OperationId> = Operations[Id] extends {
  body: { schema: infer S extends z.ZodType };
}
  ? z.output<S>
  : undefined;
/** Every success body of the operation; undefined where it is empty. */
export type Success<Id extends OperationId> = {
  [Status in keyof Operations[Id]['responses']]: Operations[Id]['responses'][Status] extends z.ZodType
    ? z.output<Operations[Id]['responses'][Status]>
    : undefined;
}[keyof Operations[Id]['responses']];
/** Success statuses of the operation. */
export type SuccessStatus<Id extends OperationId> = keyof Operations[Id]['responses'] & number;

export * from './accounts.ts';
export { DEFAULT_BODY_BYTES, hasCodePoints } from './atoms.ts';
export * from './catalog.ts';
export * from './errors.ts';
export * from './fleet.ts';
export type { AuthKind, BodyDeclaration, Operation, OperationDeclaration } from './operation.ts';
export * from './service.ts';
export * from './sessions.ts';
export * from './setup.ts';
