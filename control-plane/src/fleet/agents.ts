import { SECOND_MS } from '@footlight/platform';
import { ACK_LIMIT_MS, type ControlCommand, DISPLAY_ACK_LIMIT_MS } from '@footlight/protocol/agent';
import type { HostLoadSample } from '@footlight/protocol/rest';
import type { Bus } from '../platform/bus/bus.ts';
import { unavailable } from '../platform/errors.ts';
import type { Platform } from '../platform/platform.ts';
import { type CommandResult, type HostLink, hostSubjects, type SignalToAgent } from './subjects.ts';

/**
 * Time limit for the answer of the replica with the link, in addition to that replica's own wait for the agent.
 */
export const BUS_LIMIT_MS = 2 * SECOND_MS;

/** Time limit for the ack of each command. Source: docs/sessions.md, "Time limits". */
export const COMMAND_LIMITS_MS: Record<ControlCommand['type'], number> = {
  session_assign: ACK_LIMIT_MS,
  session_start: ACK_LIMIT_MS,
  session_stop: ACK_LIMIT_MS,
  session_swap_app: ACK_LIMIT_MS,
  session_display_update: DISPLAY_ACK_LIMIT_MS,
  session_tune: 5 * SECOND_MS,
  session_capture: 5 * SECOND_MS,
  session_recording: 5 * SECOND_MS,
  session_guests: 5 * SECOND_MS,
  config_update: ACK_LIMIT_MS,
  restart: ACK_LIMIT_MS,
  image_ensure: 15 * SECOND_MS,
  image_build: 15 * SECOND_MS,
  image_remove: 15 * SECOND_MS,
  preflight: ACK_LIMIT_MS,
};

/** A command without its id. The id is added when the command is sent. */
export type AgentCommand = WithoutId<ControlCommand>;
type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;

/** The agents of all hosts, independent of the replica that has their links. */
export class Agents {
  readonly #bus: Bus;
  readonly #random: Platform['random'];

  constructor({ bus, random }: Pick<Platform, 'bus' | 'random'>) {
    this.#bus = bus;
    this.#random = random;
  }

  /** Sends a command to the host's agent and waits for its ack. Never rejects. */
  async command(
    hostId: string,
    command: AgentCommand,
    timeoutMs = COMMAND_LIMITS_MS[command.type],
  ): Promise<CommandResult> {
    const payload = { command: { ...command, id: this.#random.uuid() } as ControlCommand, timeoutMs };
    const answer = await this.#bus.request(hostSubjects.command, hostId, payload, timeoutMs + BUS_LIMIT_MS);
    if (answer.kind === 'reply') return answer.reply;
    if (answer.kind === 'not_sent') return { kind: 'not_asked' };
    return { kind: 'not_connected', sent: answer.kind === 'no_answer' };
  }

  /** @returns null: the host is not connected @throws ApiError 503 when the replica with the link does not answer */
  async link(hostId: string): Promise<HostLink | null> {
    const answer = await this.#bus.request(hostSubjects.link, hostId, {}, BUS_LIMIT_MS);
    if (answer.kind === 'reply') return answer.reply;
    if (answer.kind === 'no_responder') return null;
    throw unavailable('The host cannot be reached right now.');
  }

  /**
   * Load samples of the host's last hour, oldest first; empty while the host is not connected.
   * @throws ApiError 503 when the replica with the link does not answer
   */
  async load(hostId: string): Promise<HostLoadSample[]> {
    const answer = await this.#bus.request(hostSubjects.load, hostId, {}, BUS_LIMIT_MS);
    if (answer.kind === 'reply') return answer.reply;
    if (answer.kind === 'no_responder') return [];
    throw unavailable('The host cannot be reached right now.');
  }

  /**
   * Sends a signaling message to the host's agent. The subject `signalRefused` reports a full queue, and `changed`
   * reports a lost link.
   */
  signal(hostId: string, message: SignalToAgent): void {
    this.#bus.publish(hostSubjects.signal, hostId, message);
  }
}
