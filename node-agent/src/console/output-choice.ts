import type { ConsoleCapabilities, ConsoleConfig } from '@footlight/protocol/agent';

/** Display and mode of a session. */
export interface ChosenOutput {
  /** Card in /dev/dri, such as card1. */
  card: string;
  /** Connector of that card as the kernel names it, such as DP-4. */
  connector: string;
  /** null: the display's preferred mode. */
  mode: ConsoleConfig['mode'];
  /** The card's other connectors, which stay dark. */
  others: string[];
}

/**
 * The connected display that a configuration names. Pure.
 * @returns null: that display is not connected
 * Source: docs/hosts.md, "A display on the host".
 */
export function chooseOutput(
  { output_id, connector, mode }: Pick<ConsoleConfig, 'output_id' | 'connector' | 'mode'>,
  { outputs }: Pick<ConsoleCapabilities, 'outputs'>,
): ChosenOutput | null {
  const chosen = outputs.find((output) => {
    if (!output.connected) return false;
    if (output_id !== null) return output.id === output_id;
    return connector === 'auto' || output.connector === connector;
  });
  if (chosen === undefined) return null;
  return {
    card: chosen.card,
    connector: chosen.connector,
    mode: output_id === null ? null : mode,
    others: outputs
      .filter(({ card, id }) => card === chosen.card && id !== chosen.id)
      .map((o) => o.connector),
  };
}
