import { systemClock, type Timer } from '@footlight/platform';
import { Agent, fetch } from 'undici';
import { expect, vi } from 'vitest';
import { ADA, type BuiltReplicas, RECOVERED } from './built-replicas.ts';

/** The limit of one address is ten sign-ins at once and one more every 5 s, on each of three replicas. */
const SIGN_IN_EVERY_MS = 2_000;

/** People who use the replicas through their load balancer all the time, on kept connections. */
export class SteadyRequests {
  /** Number of answered requests by method. */
  readonly answered: Record<string, number> = {};
  /** Every request that failed, with its answer or error, and every launch that did not run. */
  readonly failed: string[] = [];
  readonly #fleet: BuiltReplicas;
  readonly #dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  readonly #timers: Timer[] = [];
  readonly #open = new Set<Promise<void>>();
  #isEnding = false;

  /** Begins with reads, small writes and sign-ins. */
  constructor(fleet: BuiltReplicas, { perSecond }: { perSecond: number }) {
    this.#fleet = fleet;
    this.#every(1_000 / perSecond, (n) => {
      const session = fleet.sessions[n % fleet.sessions.length];
      const reads = ['/v1/me', '/v1/apps', `/v1/sessions/${session}`, '/v1/sessions', '/v1/hosts'];
      const path = reads[n % (reads.length + 1)];
      return path === undefined
        ? this.#ask('PATCH', '/v1/me/ui-preferences', { library_view: `view ${n}` })
        : this.#ask('GET', path);
    });
    const signIn = { email: ADA.email, password: ADA.password };
    this.#every(SIGN_IN_EVERY_MS, () => this.#ask('POST', '/v1/auth/login', signIn));
  }

  /**
   * Lets people launch sessions that run and are stopped, one after the other.
   * @param people each needs a free host
   * @returns a function that resolves when their last sessions have ended
   */
  launch(people: number): () => Promise<unknown> {
    let isEnding = false;
    const launching = Array.from({ length: people }, async () => {
      while (!isEnding && !this.#isEnding) await this.#count(this.#launchAndStop());
    });
    return () => {
      isEnding = true;
      return Promise.all(launching);
    };
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    for (const timer of this.#timers) timer.cancel();
    await Promise.all(this.#open);
    await this.#dispatcher.close();
  }

  async #launchAndStop(): Promise<void> {
    const { session } = await this.#ask('POST', '/v1/sessions', { app_id: this.#fleet.appId });
    const path = `/v1/sessions/${session.id}`;
    const reach = (state: string) =>
      vi.waitFor(async () => {
        const now = (await this.#ask('GET', path)).session;
        expect(now.state, JSON.stringify(now)).toBe(state);
      }, RECOVERED);
    await reach('running');
    await this.#ask('DELETE', path);
    await reach('stopped');
  }

  /** Sends a request in each interval, also while earlier ones are not answered. */
  #every(ms: number, send: (n: number) => Promise<unknown>): void {
    let sent = 0;
    this.#timers.push(systemClock.setInterval(() => void this.#count(send(sent++)), ms));
  }

  #count(work: Promise<unknown>): Promise<void> {
    const counted: Promise<void> = work
      .then(
        () => undefined,
        (error: Error) => void this.failed.push(error.message),
      )
      .finally(() => this.#open.delete(counted));
    this.#open.add(counted);
    return counted;
  }

  /** @returns the body of the answer @throws Error with the method, the path, and the refusal or the error */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever was really sent.
  async #ask(method: string, path: string, body?: object): Promise<any> {
    const answer = await fetch(`${this.#fleet.url}${path}`, {
      method,
      dispatcher: this.#dispatcher,
      headers: {
        authorization: `Bearer ${this.#fleet.bearer}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    }).catch((error: Error) => {
      throw new Error(`${method} ${path}: ${error.cause ?? error}`);
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 200)}`);
    this.answered[method] = (this.answered[method] ?? 0) + 1;
    return text === '' ? null : JSON.parse(text);
  }
}
