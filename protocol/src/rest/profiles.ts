export const profileOperations = {} as const;
