import {
  type Bounds,
  boundsOfBody,
  type OperationId,
  operations,
  type SentBody,
} from '@footlight/protocol/rest';

/** Operations whose fields a form checks before it sends them. */
const CHECKED = [
  'admin.jobs.update',
  'admin.placement.preview',
  'apps.create',
  'enrollmentTokens.create',
  'invites.create',
  'launchProfiles.create',
  'runtimePresets.create',
  'settings.update',
  'streamProfiles.create',
  'users.update',
] as const satisfies OperationId[];
type Checked = (typeof CHECKED)[number];

type BoundsOf<Value> =
  Extract<Value, object> extends infer Whole
    ? [Whole] extends [never]
      ? Bounds
      : Whole extends readonly unknown[]
        ? Bounds
        : { readonly [Field in keyof Whole]-?: BoundsOf<Whole[Field]> }
    : never;

/**
 * Bounds of body fields, from the schemas with which the server checks requests. The build replaces this module by its
 * result, so that the browser does not load the schemas.
 */
export const bodyBounds = Object.fromEntries(
  CHECKED.map((id) => [id, boundsOfBody(operations[id].body)]),
) as {
  readonly [Id in Checked]: BoundsOf<SentBody<Id>>;
};
