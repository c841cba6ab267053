import type { z } from 'zod';
import type { Operations } from './areas.ts';

export type OperationId = keyof Operations;

type Nothing = Record<never, never>;

/** Parsed path parameters of a handler. */
export type Params<Id extends OperationId> = Operations[Id] extends { params: infer S extends z.ZodType }
  ? z.output<S>
  : Nothing;
/** Parsed query of a handler. */
export type Query<Id extends OperationId> = Operations[Id] extends { query: infer S extends z.ZodType }
  ? z.output<S>
  : Nothing;
/** Parsed body of a handler; undefined: the operation has no body. */
export type Body<Id extends OperationId> = Operations[Id] extends {
  body: { schema: infer S extends z.ZodType };
}
  ? z.output<S>
  : undefined;
/** Body that a client sends, before defaults and conversions; undefined: the operation has no body. */
export type SentBody<Id extends OperationId> = Operations[Id] extends { body: { schema: infer S } }
  ? S extends z.ZodPipe<z.core.$ZodType, infer Inner>
    ? z.input<Inner>
    : S extends z.ZodType
      ? z.input<S>
      : undefined
  : undefined;
/** Bodies of an operation's success answers; undefined: the answer is empty. */
export type Success<Id extends OperationId> = {
  [Status in keyof Operations[Id]['responses']]: Operations[Id]['responses'][Status] extends z.ZodType
    ? z.output<Operations[Id]['responses'][Status]>
    : undefined;
}[keyof Operations[Id]['responses']];

export * from './accounts/accounts.ts';
export * from './accounts/dev.ts';
export * from './accounts/invites.ts';
export * from './accounts/me.ts';
export * from './accounts/setup.ts';
export * from './accounts/users.ts';
export * from './activity.ts';
export * from './areas.ts';
export { DEFAULT_BODY_BYTES, hasCodePoints, isTimeZone } from './atoms.ts';
export { type Bounds, boundsOfBody } from './body-bounds.ts';
export * from './captures.ts';
export * from './catalog/artwork.ts';
export * from './catalog/catalog.ts';
export * from './catalog/images.ts';
export * from './catalog/library.ts';
export * from './catalog/presets.ts';
export * from './catalog/profiles.ts';
export * from './catalog/runtime-spec.ts';
export * from './errors.ts';
export * from './fleet/certification.ts';
export * from './fleet/fleet.ts';
export * from './fleet/host-console.ts';
export * from './fleet/host-load.ts';
export * from './fleet/host-settings.ts';
export * from './fleet/placement.ts';
export * from './fleet/preflight.ts';
export * from './guests.ts';
export type {
  AuthKind,
  BodyDeclaration,
  Operation,
  OperationSwitch,
  UploadDeclaration,
} from './operation.ts';
export * from './recordings.ts';
export * from './secrets.ts';
export * from './service.ts';
export * from './sessions.ts';
export * from './settings.ts';
export * from './telemetry.ts';
export * from './trace.ts';
export * from './upkeep/backups.ts';
export * from './upkeep/deletions.ts';
export * from './upkeep/jobs.ts';
export * from './upkeep/storage.ts';
export * from './verdict.ts';
