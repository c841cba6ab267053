export const activityOperations = {} as const;
