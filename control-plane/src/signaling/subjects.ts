import type { AppLaunchState, Codec, SessionStateName } from '@footlight/protocol';
import type { Session } from '@footlight/protocol/rest';
import type { ServiceBye, SignalError } from '@footlight/protocol/signal';

/** Session facts that a viewer's socket needs. */
export interface ViewedSession {
  id: string;
  host_id: string | null;
  state: SessionStateName;
  state_detail: string | null;
  end_reason: string | null;
  /** The agent accepts viewers from now on. */
  relay_ready: boolean;
  app_launch_state: AppLaunchState | undefined;
  stream: { codec: Codec; width: number; height: number; fps: number; mic: boolean; recording: boolean };
}

/** Session look-up for signaling. */
export interface SessionDirectory {
  /** undefined when the session was deleted. */
  view(id: string): Promise<ViewedSession | undefined>;
}

/** Changed members of a session; a missing member is unchanged. */
export interface SessionChange {
  state?: SessionStateName;
  state_detail?: string | null;
  app_id?: string;
  /** All observed members; a member that is missing here is unknown. */
  observed?: Pick<Session, 'app_launch_state' | 'health_state' | 'health_reason'>;
}

/** Bus subject of a session's visible changes. Payload: SessionChange. */
export const changedSubject = (sessionId: string): string => `session.${sessionId}.changed`;
/** A message of an agent for its viewer, validated by the replica with the agent's link. */
export interface SignalToViewer {
  conn: number;
  /** The text for the page. */
  text: string;
  /** The message itself if it is the last one, after which the socket closes; null: more may follow. */
  last: ServiceBye | SignalError | null;
}

/** Bus subject of agent messages for the replica with the viewer's socket. */
export const signalSubject = (sessionId: string): string => `session.${sessionId}.signal`;
/** Bus subject on which a socket announces that it is the viewer. Payload: { conn, client_id }. */
export const viewerSubject = (sessionId: string): string => `session.${sessionId}.viewer`;
/**
 * Bus subject on which an older socket of a page hands over to a newer one. Payload: { attached, by }, both numbers.
 */
export const replacedSubject = (sessionId: string): string => `session.${sessionId}.replaced`;
/** Bus subject of the state of a host's link. Payload: { connected }. */
export const linkSubject = (hostId: string): string => `host.${hostId}.link`;
