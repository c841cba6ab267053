/** Tables that no feature owns. */
export interface PlatformTables {
  leases: LeasesTable;
}

/** Who does a work that must be done once. The fencing number grows with every change of holder and never goes back. */
export interface LeasesTable {
  name: string;
  holder: string;
  fence: number;
  expires_at: number;
}
