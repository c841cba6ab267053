/** Bus subjects of hosts and of the replicas that hold their links. The key is the host's id, unless a line says otherwise. */
import { openCode, type RefusalCode } from '@footlight/protocol';
import { controlCommand } from '@footlight/protocol/agent';
import { hostLoad } from '@footlight/protocol/rest';
import { z } from 'zod';

/**
 * Result of a command.
 * ok: accepted, not finished. refused: typed refusal. timeout: no ack in time, the command may still take effect.
 * not_connected: no link, or a lost link before the ack; `sent` says whether the command was sent.
 */
const commandResult = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ok') }),
  z.object({ kind: z.literal('refused'), code: openCode<RefusalCode>(), error: z.string() }),
  z.object({ kind: z.literal('timeout') }),
  z.object({ kind: z.literal('not_connected'), sent: z.boolean() }),
]);
export type CommandResult = z.infer<typeof commandResult>;

/** A live link of a host. Registered and open; placements also need status online and detection ok in the record. */
const hostLink = z.object({
  /** Features of the registration. */
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
  /** Sent even when the queue is full. Only for the last frame of an attached socket; these are few. */
  mustSend: z.boolean().optional(),
});
export type SignalToAgent = z.infer<typeof signalToAgent>;

/**
 * reported: the capacity is stored. lost: the link is lost. configured: its settings or its console were saved.
 * uncordoned: an administrator lets it take sessions again. deleted: its record is gone.
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
  /** A command for the agent; answered by the replica with its link. */
  command: {
    name: 'host.command',
    payload: z.object({ command: controlCommand, timeoutMs: z.number() }),
    reply: commandResult,
  },
  /** The state of the link; answered by the replica that has it. null: just lost. */
  link: { name: 'host.link', payload: none, reply: hostLink.nullable() },
  /** How busy the host was; answered by the replica with its link. */
  load: { name: 'host.load', payload: none, reply: hostLoad.shape.samples },
  /** The host registers elsewhere; answered by the replica with its older link, when it is closed and its reports are stored. */
  release: { name: 'host.release', payload: none, reply: none },
  /** A viewer's signaling message for the agent. */
  signal: { name: 'host.signal', payload: signalToAgent },
  /** A signaling message that the queue towards the agent had no room for. The key is the session's id. */
  signalRefused: { name: 'host.signal_refused', payload: z.object({ conn: z.number() }) },
  changed: { name: 'host.changed', payload: hostChange },
} as const;

export const replicaSubjects = {
  /** Answered by each replica that reaches the database. The key is `any`. */
  database: { name: 'replica.database', payload: none, reply: none },
} as const;
