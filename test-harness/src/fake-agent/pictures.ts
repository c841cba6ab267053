/** Pictures of fake hosts: each watched session gets a test picture and the data channels of a host. */
import type { ControlSignaling } from '@footlight/protocol/agent';
import type { BrowserMessage, ServiceMessage } from '@footlight/protocol/signal';
import { ScriptedHost } from '../fake-viewer/scripted-host.ts';
import type { FakeAgent } from './fake-agent.ts';

interface Watched {
  host: Promise<ScriptedHost>;
  /** Number of the viewer's socket in messages to and from the agent. */
  conn: number;
}

/**
 * The number of pictures is limited by the sessions of the fake hosts. Teardown: `close` ends all pictures. Until then
 * the picture of each session stays, so that its viewer can reconnect.
 */
export class Pictures {
  readonly #watched = new Map<string, Watched>();
  #isClosed = false;

  /** Handles a signaling message for the agent. Messages of one session are handled in order. */
  async hear({ session_id, conn, msg }: ControlSignaling, agent: FakeAgent): Promise<void> {
    // A viewer that leaves at the end is still reported.
    if (this.#isClosed) return;
    const watched = this.#watched.get(session_id) ?? this.#start(session_id, conn, agent);
    const host = await watched.host;
    if (msg.type === 'attach') {
      watched.conn = conn;
      host.hear(msg.hello);
    } else if (msg.type !== 'detach') host.hear(msg as BrowserMessage);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const hosts = [...this.#watched.values()].map(({ host }) => host);
    this.#watched.clear();
    await Promise.all(hosts.map(async (host) => (await host).close()));
  }

  #start(sessionId: string, conn: number, agent: FakeAgent): Watched {
    const say = (message: ServiceMessage) => {
      // Other messages are dropped: the control plane sends `ready` itself.
      if (message.type === 'offer' || message.type === 'candidate' || message.type === 'resumed')
        agent.signal(sessionId, watched.conn, message);
    };
    const watched: Watched = { host: ScriptedHost.speaking(say), conn };
    this.#watched.set(sessionId, watched);
    return watched;
  }
}
