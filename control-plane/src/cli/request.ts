/** The HTTP request of an operation. Pure. */
import type { Operation } from '@footlight/protocol/rest';
import { wrongUsage } from './failure.ts';
import type { OperationFlag } from './flags.ts';

/** Values of flags by the contract's names. */
export type FlagValues = ReadonlyMap<OperationFlag, unknown>;

export interface ApiRequest {
  readonly operation: Operation;
  /** Path with its query. */
  readonly path: string;
  /** undefined: the request has no JSON body. */
  readonly body: unknown;
}

/**
 * @param whole a complete body that the caller wrote; flags replace its members. undefined: there is none
 * @throws CliFailure for a path parameter that cannot be part of a path
 */
export function requestOf(operation: Operation, values: FlagValues, whole: unknown = undefined): ApiRequest {
  const of = (place: OperationFlag['place']) =>
    [...values].flatMap(([flag, value]) => (flag.place === place ? [[flag.field, value] as const] : []));
  const params = new Map(of('path').map(([name, value]) => [name, String(value)]));
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => segmentOf(params.get(name) ?? ''));
  const query = new URLSearchParams(
    of('query').map(([name, value]): [string, string] => [name, String(value)]),
  );
  return {
    operation,
    path: query.size === 0 ? path : `${path}?${query}`,
    body: operation.body === undefined ? undefined : bodyOf(operation, Object.fromEntries(of('body')), whole),
  };
}

/**
 * A segment of a path.
 * @throws CliFailure for an empty text, and for `.` and `..`: URL parsers remove these segments, even if they are
 *   escaped, so the request would reach another operation
 */
function segmentOf(text: string): string {
  if (text === '' || text === '.' || text === '..') throw wrongUsage(`"${text}" is no id or name.`);
  return encodeURIComponent(text);
}

function bodyOf(operation: Operation, given: object, whole: unknown): unknown {
  if (whole === undefined) {
    const isEmpty = Object.keys(given).length === 0;
    return isEmpty && operation.body?.optional ? undefined : given;
  }
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole)) return whole;
  return { ...whole, ...given };
}
