/**
 * The protocol between a node agent and the control plane, /agent/ws and the agent's HTTP calls: messages, limits,
 * close codes, and one parser for each direction.
 */
import { createFrameParser, isJsonObject, type JsonObject, type ParsedFrame } from '../common.ts';
import { type ControlMessage, controlMessages, controlSignal } from './downstream.ts';
import { type AgentMessage, agentMessages, agentSignal } from './upstream.ts';

export * from './calls.ts';
export * from './capacity.ts';
export * from './captures.ts';
export * from './downstream.ts';
export * from './knobs.ts';
export * from './limits.ts';
export * from './session-spec.ts';
export * from './upstream.ts';

/** A relayed message of a type that this side does not know is no fault of the sender. */
function unknownSignal(
  schema: typeof agentSignal | typeof controlSignal,
): (value: JsonObject) => string | null {
  const known = new Set<string>(schema.options.map((option) => option.shape.type.value));
  return (value) => {
    if (value.type !== 'signaling' || !isJsonObject(value.msg)) return null;
    const type = value.msg.type;
    return typeof type === 'string' && !known.has(type) ? `signaling ${type}` : null;
  };
}

const parseAgent = createFrameParser(agentMessages, unknownSignal(agentSignal));
const parseControl = createFrameParser(controlMessages, unknownSignal(controlSignal));

/** Reads one text frame that an agent sent. Never throws. */
export function parseAgentFrame(frame: string): ParsedFrame<AgentMessage> {
  return parseAgent(frame);
}

/** Reads one text frame that the control plane sent. Never throws. */
export function parseControlFrame(frame: string): ParsedFrame<ControlMessage> {
  return parseControl(frame);
}

/** Text of one message to the control plane. */
export function encodeAgentFrame(message: AgentMessage): string {
  return JSON.stringify(message);
}

/** Text of one message to an agent. */
export function encodeControlFrame(message: ControlMessage): string {
  return JSON.stringify(message);
}
