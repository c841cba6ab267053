import { type OperationId, type Operations, operations } from '@footlight/protocol/rest';

/** Facts of an operation for a client. */
export interface OperationAddress {
  method: Operations[OperationId]['method'];
  path: string;
  auth: Operations[OperationId]['auth'];
}

/**
 * Method, path and caller of every operation. The build replaces this module by its result, so that the schemas are
 * not sent to the browser.
 */
export const operationTable = Object.fromEntries(
  Object.values(operations).map(({ id, method, path, auth }) => [id, { method, path, auth }]),
) as Record<OperationId, OperationAddress>;
