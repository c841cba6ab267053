export const artworkOperations = {} as const;
