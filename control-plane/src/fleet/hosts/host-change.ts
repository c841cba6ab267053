/** Bus subject of changes to a host; the payload is a HostChange. */
export const hostSubject = 'fleet.host';

/**
 * reported: the capacity is stored. lost: the link is lost. changed: an administrator changed the host.
 * hasConsole: a console configuration exists.
 */
export type HostChange = { hostId: string } & (
  | { what: 'reported'; hasConsole: boolean }
  | { what: 'lost' | 'changed' | 'deleted' }
);
