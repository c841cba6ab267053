import type { ConsoleCapabilities, ConsoleConfig } from '@footlight/protocol/agent';
import { type ConsolePatch, consoleDefaults } from '@footlight/protocol/rest';

/** Name of the agent feature that allows sessions on a console. */
export const CONSOLE_FEATURE = 'console';

/** Capabilities of a host that has not reported any. */
export const NO_CAPABILITIES: ConsoleCapabilities = {
  connectors: [],
  outputs: [],
  audio_sinks: [],
  input_devices: [],
};

/**
 * The stored configuration after a request: null resets a field to its default, and a missing field keeps its value.
 */
export function changeConsole(stored: ConsoleConfig, patch: ConsolePatch): ConsoleConfig {
  const given = Object.entries(patch).filter(([, value]) => value !== undefined);
  const values = given.map(([key, value]) => [key, value ?? consoleDefaults[key as keyof ConsoleConfig]]);
  return { ...stored, ...Object.fromEntries(values) };
}

/** Keys whose values differ. */
export function changedKeys(before: ConsoleConfig, after: ConsoleConfig): string[] {
  const keys = Object.keys(consoleDefaults) as (keyof ConsoleConfig)[];
  return keys.filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
}

/**
 * Why a configuration cannot be used on this host. Combinations of fields are checked in the resulting configuration.
 * Only fields in the request must name something that exists on the host, so an unplugged display does not block other
 * changes.
 * @param config the result of the patch
 * @returns a sentence for the administrator, or null
 */
export function consoleProblem(
  config: ConsoleConfig,
  patch: ConsolePatch,
  has: ConsoleCapabilities,
): string | null {
  if ((config.output_id === null) !== (config.mode === null)) {
    return 'output_id and mode are set together, or neither.';
  }
  if (config.auto_start_on_display && config.default_user === null) {
    return 'auto_start_on_display: needs a default_user to start the app for.';
  }
  return (
    outputProblem(config, patch, has) ??
    connectorProblem(patch, has) ??
    audioProblem(patch, has) ??
    inputProblem(patch, has)
  );
}

function outputProblem(config: ConsoleConfig, patch: ConsolePatch, has: ConsoleCapabilities): string | null {
  const { output_id, mode } = config;
  const isNamed = patch.output_id !== undefined || patch.mode !== undefined;
  if (!isNamed || output_id === null || mode === null) return null;
  const output = has.outputs.find(({ id, connected }) => id === output_id && connected);
  if (output === undefined) return 'output_id: no connected output of this host has that id.';
  const fits = output.modes.some(
    ({ width, height, refresh_millihz }) =>
      width === mode.width && height === mode.height && refresh_millihz === mode.refresh_millihz,
  );
  return fits ? null : `mode: ${output_id} does not have exactly that mode.`;
}

function connectorProblem({ connector }: ConsolePatch, has: ConsoleCapabilities): string | null {
  if (typeof connector !== 'string' || connector === 'auto' || has.connectors.length === 0) return null;
  return has.connectors.includes(connector)
    ? null
    : `connector: expected "auto" or one that this host reported: ${has.connectors.join(', ')}.`;
}

function audioProblem({ audio_output }: ConsolePatch, has: ConsoleCapabilities): string | null {
  if (typeof audio_output !== 'string' || has.audio_sinks.length === 0) return null;
  return has.audio_sinks.some(({ id }) => id === audio_output)
    ? null
    : 'audio_output: this host has not reported that audio sink.';
}

function inputProblem({ input_devices }: ConsolePatch, has: ConsoleCapabilities): string | null {
  if (!Array.isArray(input_devices) || has.input_devices.length === 0) return null;
  const known = new Set(has.input_devices.map(({ path }) => path));
  const unknown = input_devices.find((path) => !known.has(path));
  return unknown === undefined ? null : `input_devices: this host has not reported ${unknown}.`;
}
