import { isTerminal } from '@footlight/protocol';
import { FakeViewer, type FakeViewerOptions, type ViewerAccess } from '../fake-viewer/index.ts';
import type { ApiAnswer } from './api-client.ts';
import { eventually, PATIENCE_MS } from './program.ts';
import { diagnosticsApp, type Stack, startStack } from './stack.ts';

/** A small picture, which needs little work from renderer and encoder. */
const SMALL = { width: 320, height: 240, fps: 30 };

export interface OwnStack {
  readonly stack: Stack;
  readonly sessions: PersonSessions;
  end(): Promise<void>;
}

/** Sessions of one account on a stack, launched, watched and ended through the API as a page does. */
export class PersonSessions {
  readonly #stack: Stack;
  readonly #token: string;
  readonly #viewers: FakeViewer[] = [];

  /** @param token bearer token of the account; `app` needs an administrator's token */
  constructor(stack: Stack, token: string) {
    this.#stack = stack;
    this.#token = token;
  }

  /**
   * Starts a new stack with sessions of its first administrator; `end` stops both.
   * @param uids first and last user id for sessions, used by no other agent on this machine
   * @param agentEnv additional environment of the agent
   */
  static async onNewStack(
    uids: readonly [first: number, last: number],
    agentEnv: Record<string, string> = {},
  ): Promise<OwnStack> {
    const stack = await startStack({
      agentEnv: { SERVICE_ENCODE_SLOTS: '2', SERVICE_PROCESS_UIDS: uids.join('-'), ...agentEnv },
    });
    const claimed = await stack.claim().catch(async (error: unknown) => {
      await stack.stop();
      throw error;
    });
    const sessions = new PersonSessions(stack, claimed.token);
    const end = async () => {
      await sessions.close();
      await stack.stop();
    };
    return { stack, sessions, end };
  }

  call(method: string, path: string, body?: unknown): Promise<ApiAnswer> {
    return this.#stack.call(method, path, { token: this.#token, ...(body === undefined ? {} : { body }) });
  }

  /**
   * Creates an app with a small picture.
   * @param args null = the Diagnostics pattern
   * @param fields further fields of the app
   * @returns id of the app
   */
  async app(
    name: string,
    args: readonly string[] | null,
    env: Record<string, string> = {},
    fields: object = {},
  ): Promise<string> {
    const base = { ...diagnosticsApp(this.#stack.directory, name, SMALL), ...fields };
    const body = args === null ? base : { ...base, runtime_spec: { args, env } };
    const answer = await this.call('POST', '/v1/apps', body);
    if (answer.status !== 201) throw new Error(`the app: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body.id ?? answer.body.app.id;
  }

  /**
   * Launches with the small picture.
   * @param stream further stream settings
   * @returns the session's id and the viewer's access
   */
  async launch(appId: string, stream: object = {}): Promise<{ id: string; access: ViewerAccess }> {
    const body = { app_id: appId, stream: { ...SMALL, ...stream } };
    const answer = await this.call('POST', '/v1/sessions', body);
    if (answer.status !== 201) throw new Error(`the launch: ${answer.status} ${JSON.stringify(answer.body)}`);
    return { id: answer.body.session.id, access: answer.body.signaling };
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests read the server's actual response
  async read(id: string): Promise<any> {
    return (await this.call('GET', `/v1/sessions/${id}`)).body.session;
  }

  /** Connects another viewer with a separate token and waits for the first frames. */
  async watch(id: string, options: FakeViewerOptions = {}): Promise<FakeViewer> {
    const viewer = new FakeViewer(options);
    this.#viewers.push(viewer);
    await viewer.connect(await this.access(id));
    await viewer.connected(PATIENCE_MS);
    await viewer.frames(5, PATIENCE_MS);
    return viewer;
  }

  async access(id: string): Promise<ViewerAccess> {
    return (await this.call('POST', `/v1/sessions/${id}/signaling-token`)).body.signaling;
  }

  /** Waits until the session has this detail. @throws Error with the end reason when the session ends earlier */
  async reaches(id: string, detail: string, limitMs = PATIENCE_MS): Promise<void> {
    const over = await eventually(`${detail}`, limitMs, async () => {
      const session = await this.read(id);
      if (session.state_detail === detail) return { session: null };
      return isTerminal(session.state) ? { session } : null;
    });
    if (over.session) throw new Error(`the session ended: ${JSON.stringify(over.session)}`);
  }

  /** Waits for the session's end, and returns the session. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  ended(id: string, limitMs = PATIENCE_MS): Promise<any> {
    return eventually('the session is over', limitMs, async () => {
      const session = await this.read(id);
      return isTerminal(session.state) ? session : null;
    });
  }

  async stop(id: string): Promise<void> {
    await this.call('DELETE', `/v1/sessions/${id}`);
    await this.ended(id);
  }

  async close(): Promise<void> {
    await Promise.all(this.#viewers.map((viewer) => viewer.close()));
  }
}
