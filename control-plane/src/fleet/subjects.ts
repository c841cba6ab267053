/**
 * Bus subjects of hosts and of the replicas to which they are connected. The key is the host's id, unless a comment
 * names another key.
 */
import { openCode, type RefusalCode } from '@footlight/protocol';
import { controlCommand, preflightAnswer } from '@footlight/protocol/agent';
import { hostLoad } from '@footlight/protocol/rest';
import { z } from 'zod';

/**
 * Result of a command. ok: accepted, not finished; `preflight` only for the command with this name. refused: the agent
 * refused it with a code. timeout: no ack in time; the command may still take effect. not_connected: no replica that can
 * be reached has a link, or the link was lost before the ack; `sent` tells whether the command was sent.
 */
const commandResult = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ok'), preflight: preflightAnswer.optional() }),
  z.object({ kind: z.literal('refused'), code: openCode<RefusalCode>(), error: z.string() }),
  z.object({ kind: z.literal('timeout') }),
  z.object({ kind: z.literal('not_connected'), sent: z.boolean() }),
]);
/** not_asked: this replica has no link, and cannot ask the others. The command was not sent. */
export type CommandResult = z.infer<typeof commandResult> | { kind: 'not_asked' };

/**
 * A live link of a host. The link is registered and open. A placement also requires status online and detection ok in
 * the host's record.
 */
const hostLink = z.object({
  /** Features that the agent named at its registration. */
  features: z.array(z.string()).readonly(),
  /** Time since the registration, ms. */
  registeredMs: z.number(),
  /** Time since the last frame, ms. */
  silentMs: z.number(),
});
export type HostLink = z.infer<typeof hostLink>;

const signalToAgent = z.object({
  session_id: z.string(),
  conn: z.number(),
  /** The message, as JSON. */
  text: z.string(),
  /**
   * Send the message even when the queue is full. Used only for the last frame of an attached socket, so such messages
   * are few.
   */
  mustSend: z.boolean().optional(),
});
export type SignalToAgent = z.infer<typeof signalToAgent>;

/**
 * reported: the capacity is stored. lost: the link is lost. configured: its settings or its console were saved.
 * uncordoned: an administrator allowed sessions on it again. deleted: its record was deleted.
 */
const hostChange = z.discriminatedUnion('what', [
  z.object({
    what: z.literal('reported'),
    /** The agent can run sessions on a console. */
    canConsole: z.boolean(),
    /** A console configuration exists. */
    hasConsole: z.boolean(),
  }),
  z.object({ what: z.enum(['lost', 'configured', 'uncordoned', 'deleted']) }),
]);
export type HostChange = z.infer<typeof hostChange>;

const none = z.object({});

export const hostSubjects = {
  /** A command for the agent; the replica with the agent's link answers. */
  command: {
    name: 'host.command',
    payload: z.object({ command: controlCommand, timeoutMs: z.number() }),
    reply: commandResult,
  },
  /** The state of the link; the replica that has the link answers. null: the link was just lost. */
  link: { name: 'host.link', payload: none, reply: hostLink.nullable() },
  /** Load samples of the host; the replica with its link answers. */
  load: { name: 'host.load', payload: none, reply: hostLoad.shape.samples },
  /**
   * The host registers on another replica. The replica with its older link answers after it has closed that link and
   * stored its reports.
   */
  release: { name: 'host.release', payload: none, reply: none },
  /** A viewer's signaling message for the agent. */
  signal: { name: 'host.signal', payload: signalToAgent, rawField: 'text' },
  /** A signaling message was dropped, because the send queue of the agent was full. The key is the session's id. */
  signalRefused: { name: 'host.signal_refused', payload: z.object({ conn: z.number() }) },
  changed: { name: 'host.changed', payload: hostChange },
} as const;

export const replicaSubjects = {
  /** Answered by each replica that reaches the database. The key is `any`. */
  database: { name: 'replica.database', payload: none, reply: none },
} as const;
