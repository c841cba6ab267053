import { type OperationId, type Operations, operations } from '@footlight/protocol/rest';

/** What a client has to know of an operation. */
export interface OperationAddress {
  method: Operations[OperationId]['method'];
  path: string;
  auth: Operations[OperationId]['auth'];
}

/**
 * Method, path and kind of caller of every operation. The build replaces this module by the table that it makes, so
 * that the schemas behind it need not travel to the browser.
 */
export const operationTable = Object.fromEntries(
  Object.values(operations).map(({ id, method, path, auth }) => [id, { method, path, auth }]),
) as Record<OperationId, OperationAddress>;
