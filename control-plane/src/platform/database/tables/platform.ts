/** Tables without an owning feature. */
export interface PlatformTables {
  leases: LeasesTable;
}

/** The holder of leader work. The fencing number grows with every change of holder. */
export interface LeasesTable {
  name: string;
  holder: string;
  fence: number;
  expires_at: number;
}
