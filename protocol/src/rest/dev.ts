export const devOperations = {} as const;
