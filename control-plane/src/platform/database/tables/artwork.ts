// biome-ignore lint/suspicious/noEmptyInterface: filled by its migration.
export interface ArtworkTables {}
