/** Tables that belong to no feature. */
export interface PlatformTables {
  leases: LeasesTable;
}

/** The process that currently does a leader task. The fencing number grows with every change of the holder. */
export interface LeasesTable {
  name: string;
  holder: string;
  fence: number;
  expires_at: number;
}
