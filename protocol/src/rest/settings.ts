export const settingsOperations = {} as const;
