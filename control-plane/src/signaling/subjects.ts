import type { AppLaunchState, Codec, SessionStateName } from '@footlight/protocol';
import type { Session } from '@footlight/protocol/rest';
import type { ServiceBye, SignalError } from '@footlight/protocol/signal';

/** What a viewer's socket needs to know of its session. */
export interface ViewedSession {
  id: string;
  host_id: string | null;
  state: SessionStateName;
  state_detail: string | null;
  end_reason: string | null;
  /** The agent negotiates with viewers from now on. */
  relay_ready: boolean;
  app_launch_state: AppLaunchState | undefined;
  stream: { codec: Codec; width: number; height: number; fps: number; mic: boolean; recording: boolean };
}

/** Where signaling looks sessions up. */
export interface SessionDirectory {
  /** undefined when the session is gone. */
  view(id: string): Promise<ViewedSession | undefined>;
}

/** What a change made of a session, as far as it was about these; a member that is missing stayed as it was. */
export interface SessionChange {
  state?: SessionStateName;
  state_detail?: string | null;
  app_id?: string;
  /** All that was observed of it; what is missing in here is not known. */
  observed?: Pick<Session, 'app_launch_state' | 'health_state' | 'health_reason'>;
}

/** Subject on which every visible change of a session is announced as a SessionChange, to the sockets that show it. */
export const changedSubject = (sessionId: string): string => `session.${sessionId}.changed`;
/** A message of an agent to its viewer, checked by the replica that holds the agent's link. */
export interface SignalToViewer {
  conn: number;
  /** As it goes to the page. */
  text: string;
  /** The message itself where it is the last one, so that the socket closes after it; null: more may come. */
  last: ServiceBye | SignalError | null;
}

/** Subject on which an agent's messages reach the replica that holds the viewer's socket. */
export const signalSubject = (sessionId: string): string => `session.${sessionId}.signal`;
/** Subject on which a socket says that it is now the viewer: { conn, client_id }. */
export const viewerSubject = (sessionId: string): string => `session.${sessionId}.viewer`;
/** Subject on which an older socket of a page leaves its place to a newer one: { attached, by }, both numbers. */
export const replacedSubject = (sessionId: string): string => `session.${sessionId}.replaced`;
/** Subject on which the fate of a host's link is announced to the sockets that relay through it: { connected }. */
export const linkSubject = (hostId: string): string => `host.${hostId}.link`;
