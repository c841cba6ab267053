export const secretOperations = {} as const;
