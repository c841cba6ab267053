export const userOperations = {} as const;
