export const inviteOperations = {} as const;
