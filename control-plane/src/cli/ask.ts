/** Calls operations by their ids, for commands that combine several of them. */
import { type Operation, type OperationId, operations, type Success } from '@footlight/protocol/rest';
import type { ApiAnswer, Client } from './client.ts';
import { flagsOf, type OperationFlag } from './flags.ts';
import { requestOf } from './request.ts';

export interface Input {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** @returns the whole answer, with its headers @throws CliFailure as Client.call */
export function answerTo(client: Client, id: OperationId, input: Input = {}): Promise<ApiAnswer> {
  const operation: Operation = operations[id];
  const places = { path: input.params ?? {}, query: input.query ?? {}, body: {} };
  const values = flagsOf(operation).flatMap((flag): [OperationFlag, unknown][] => {
    const value = (places[flag.place] as Record<string, unknown>)[flag.field];
    return value === undefined ? [] : [[flag, value]];
  });
  return client.call(requestOf(operation, new Map(values), input.body));
}

/** @returns the body of the answer @throws CliFailure as Client.call */
export async function ask<Id extends OperationId>(
  client: Client,
  id: Id,
  input: Input = {},
): Promise<Success<Id>> {
  return (await answerTo(client, id, input)).body as Success<Id>;
}
