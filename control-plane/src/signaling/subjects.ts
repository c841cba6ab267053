/** Bus subjects of sessions and their viewers; the key is the session's id. */
import type { AppLaunchState, Codec, Open, SessionEndReason, SessionStateName } from '@footlight/protocol';
import { session } from '@footlight/protocol/rest';
import { serviceByeSchema, signalErrorSchema } from '@footlight/protocol/signal';
import { z } from 'zod';

/** Session facts that a viewer's socket needs. */
export interface ViewedSession {
  id: string;
  host_id: string | null;
  state: SessionStateName;
  state_detail: string | null;
  end_reason: Open<SessionEndReason> | null;
  /** Whether the agent accepts viewers. */
  relay_ready: boolean;
  app_launch_state: AppLaunchState | undefined;
  stream: { codec: Codec; width: number; height: number; fps: number; mic: boolean; recording: boolean };
}

/** Session look-up for signaling. */
export interface SessionDirectory {
  /** undefined when the session was deleted. */
  view(id: string): Promise<ViewedSession | undefined>;
}

/** Changed fields of a session; a missing field has not changed. */
const sessionChange = z.object({
  state: session.shape.state.exactOptional(),
  state_detail: session.shape.state_detail.exactOptional(),
  app_id: session.shape.app_id.exactOptional(),
  /** All observed fields; a field that is missing here is unknown. */
  observed: session.pick({ app_launch_state: true, health_state: true, health_reason: true }).exactOptional(),
});
export type SessionChange = z.infer<typeof sessionChange>;

/** A message of an agent for its viewer, validated by the replica with the agent's link. */
const signalToViewer = z.object({
  conn: z.number(),
  /** The text for the page. */
  text: z.string(),
  /** The message itself if it is the last one, after which the socket is closed; null: more messages may follow. */
  last: z.discriminatedUnion('type', [serviceByeSchema, signalErrorSchema]).nullable(),
});
export type SignalToViewer = z.infer<typeof signalToViewer>;

export const sessionSubjects = {
  /** A change of the session that people can see. */
  changed: { name: 'session.changed', payload: sessionChange },
  /** An agent's message, for the replica with the viewer's socket. */
  signal: { name: 'session.signal', payload: signalToViewer, rawField: 'text' },
  /** A socket announces that it is now the session's viewer. */
  viewer: { name: 'session.viewer', payload: z.object({ conn: z.number(), client_id: z.string() }) },
  /** An older socket of a page was replaced by a newer socket of the same page. */
  replaced: { name: 'session.replaced', payload: z.object({ attached: z.number(), by: z.number() }) },
  // The next three have the guest's id as key. Guests have their own subjects, because replicas of an older release
  // would take a guest's socket for the owner's.
  /** A socket announces that it is now the guest's viewer. */
  guestViewer: {
    name: 'session.guest_viewer',
    payload: z.object({ conn: z.number(), client_id: z.string() }),
  },
  /** An older socket of a guest's page was replaced by a newer socket of the same page. */
  guestReplaced: {
    name: 'session.guest_replaced',
    payload: z.object({ attached: z.number(), by: z.number() }),
  },
  /** The owner removed the guest. */
  guestEnded: { name: 'session.guest_ended', payload: z.object({}) },
} as const;
