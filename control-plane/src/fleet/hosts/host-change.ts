/** Bus subject of changes to a host; the payload is a HostChange. */
export const hostSubject = 'fleet.host';

/**
 * reported: its capacity is stored. lost: its link is gone. changed: an administrator set something.
 * hasConsole: something is set for its display.
 */
export type HostChange = { hostId: string } & (
  | { what: 'reported'; hasConsole: boolean }
  | { what: 'lost' | 'changed' | 'deleted' }
);
