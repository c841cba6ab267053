/** On the bus: something about a host is another than before. */
export const hostSubject = 'fleet.host';

export interface HostNews {
  hostId: string;
  /** reported: its capacity is stored. lost: its link is gone. changed: an administrator set something. */
  what: 'reported' | 'lost' | 'changed' | 'deleted';
}
