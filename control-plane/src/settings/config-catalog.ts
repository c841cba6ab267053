import { KNOBS } from '@footlight/protocol/agent';
import type { ConfigKnob } from '@footlight/protocol/rest';

/** The published table of host settings; properties that do not apply to a setting are omitted. */
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
