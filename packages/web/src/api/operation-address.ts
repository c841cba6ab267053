import { type OperationId, type Operations, operations } from '@footlight/protocol/rest';

/** The method and path of an operation, which a client needs. */
export interface OperationAddress {
  path: string;
  /** Absent: GET. GET is omitted, because every page loads the table and GET is the most frequent method. */
  method?: Operations[OperationId]['method'];
  /** The operation is called without the token of the login. */
  open?: true;
}

export type OperationTable = Partial<Record<OperationId, OperationAddress>>;

/** Addresses of the operations for administrators, or of all other operations. */
export function addressesOf(area: 'administration' | 'user area'): OperationTable {
  return Object.fromEntries(
    Object.values(operations)
      .filter(
        ({ auth, path }) =>
          (auth === 'admin' || path.startsWith('/v1/admin/')) === (area === 'administration'),
      )
      .map(({ id, method, path, auth }) => [
        id,
        {
          path,
          ...(method === 'GET' ? {} : { method }),
          ...(auth === 'user' || auth === 'admin' ? {} : { open: true }),
        },
      ]),
  );
}
