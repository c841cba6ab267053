/** Bus subjects of the instance's settings. There is one instance, so there is one key. */
import { z } from 'zod';

export const INSTANCE = 'instance';

export const settingsSubjects = {
  /** The stored settings have changed. */
  changed: { name: 'settings.changed', payload: z.object({}) },
} as const;
