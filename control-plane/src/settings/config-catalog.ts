import { HOST_SETTINGS } from '@footlight/protocol/agent';
import type { ConfigSetting } from '@footlight/protocol/rest';

/** The published table of host settings; properties that do not apply to a setting are omitted. */
export const CONFIG_CATALOG: readonly ConfigSetting[] = HOST_SETTINGS.map((setting) => ({
  key: setting.key,
  type: setting.type,
  default: setting.default,
  ...(setting.min !== undefined && { min: setting.min }),
  ...(setting.max !== undefined && { max: setting.max }),
  ...(setting.enum !== undefined && { enum: [...setting.enum] }),
  nullable: setting.nullable,
  class: setting.class,
  env_var: setting.env_var,
}));
