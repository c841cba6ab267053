import { type OperationId, type Operations, operations } from '@footlight/protocol/rest';

/** The facts of an operation that a client needs. */
export interface OperationAddress {
  path: string;
  /** Absent: GET. The table is loaded with every page, so the most frequent method is left out. */
  method?: Operations[OperationId]['method'];
  /** Called without the login's token. */
  open?: true;
}

export type OperationTable = Partial<Record<OperationId, OperationAddress>>;

/** Addresses of the operations of administrators, or of all others. */
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
