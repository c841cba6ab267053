export const meOperations = {} as const;
