/** On the bus: something about a host is another than before. */
export const hostSubject = 'fleet.host';

/**
 * reported: its capacity is stored. lost: its link is gone. changed: an administrator set something.
 * hasConsole: something is set for its display.
 */
export type HostNews = { hostId: string } & (
  | { what: 'reported'; hasConsole: boolean }
  | { what: 'lost' | 'changed' | 'deleted' }
);
