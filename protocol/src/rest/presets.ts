export const presetOperations = {} as const;
