import { KNOBS } from '@footlight/protocol/agent';
import type { ConfigKnob } from '@footlight/protocol/rest';

/** The table of host settings as it is published: what does not apply to a setting is left out. */
export const CONFIG_CATALOG: readonly ConfigKnob[] = KNOBS.map((knob) => ({
  key: knob.key,
  type: knob.type,
  default: knob.default,
  ...(knob.min !== undefined && { min: knob.min }),
  ...(knob.max !== undefined && { max: knob.max }),
  ...(knob.enum !== undefined && { enum: [...knob.enum] }),
  nullable: knob.nullable,
  class: knob.class,
  env_var: knob.env_var,
}));
