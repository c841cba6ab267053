import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import https from 'node:https';
import { dirname, join } from 'node:path';
import {
  type Clock,
  errorText,
  type Logger,
  type Random,
  SECOND_MS,
  type Timer,
  writeWhole,
} from '@footlight/platform';
import { AcmeFailures } from './acme-failures.ts';
import { CHECK_EVERY_MS, limitWaitMs, orderReason, retryMs } from './acme-rules.ts';
import type { Config } from './config/config.ts';
import type { PairPaths } from './tls.ts';
import type { ReloadedCertificate } from './tls-reload.ts';

/** Path of the answers that the certificate authority requests (RFC 8555, section 8.3). */
export const CHALLENGE_PREFIX = '/.well-known/acme-challenge/';

/** Time limit of each request to the certificate authority. */
const REQUEST_LIMIT_MS = 30 * SECOND_MS;
const MAX_ANSWER_BYTES = 1024 * 1024;

/**
 * Orders the certificate from a certificate authority over ACME (RFC 8555) and renews it. The authority checks that the
 * names belong to this instance by requests to port 80 (challenge http-01).
 *
 * The pair in `paths` is replaced when an order succeeds, and `pair` then reads it. The account's key and the last
 * failures are beside it.
 */
export class AcmeOrders {
  readonly #acme: NonNullable<NonNullable<Config['tls']>['acme']>;
  readonly #paths: PairPaths;
  readonly #pair: ReloadedCertificate;
  readonly #deps: { clock: Clock; random: Random; logger: Logger };
  /** Answers of the running order by token. */
  readonly #answers = new Map<string, string>();
  readonly #failures: AcmeFailures;
  /** Number of failed orders of this process in a row. */
  #inRow = 0;
  #timer: Timer | null = null;
  #closed = false;

  constructor(
    acme: NonNullable<NonNullable<Config['tls']>['acme']>,
    paths: PairPaths,
    pair: ReloadedCertificate,
    deps: { clock: Clock; random: Random; logger: Logger },
  ) {
    this.#acme = acme;
    this.#paths = paths;
    this.#pair = pair;
    this.#deps = deps;
    const file = join(dirname(paths.keyFile), 'failures.json');
    this.#failures = new AcmeFailures(file, acme.directory, acme.hosts);
  }

  /** Why the last order failed; null: it succeeded, or there was none. */
  get problem(): string | null {
    return this.#failures.problem;
  }

  /** Answer to a request of the authority; null: there is no running order with this token. */
  answer(token: string): string | null {
    return this.#answers.get(token) ?? null;
  }

  /**
   * Orders a certificate if one is needed, and then checks regularly. If the last orders of former processes failed, it
   * waits. Call it after the service listens.
   */
  start(): void {
    void this.#begin();
  }

  /** A running order continues until its requests end, but changes nothing. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  async #begin(): Promise<void> {
    const { clock, logger } = this.#deps;
    const { hosts } = this.#acme;
    await this.#failures.load();
    const nowMs = clock.nowMs();
    const waitMs = limitWaitMs(this.#failures.failedAtMs, nowMs);
    if (waitMs === 0 || orderReason(this.#pair.current, hosts, nowMs) === null) {
      await this.#check();
      return;
    }
    logger.warn(
      { hosts, reason: this.#failures.problem, wait_secs: Math.ceil(waitMs / SECOND_MS) },
      'acme.waiting',
    );
    this.#schedule(waitMs);
  }

  async #check(): Promise<void> {
    const { clock, logger } = this.#deps;
    const { hosts } = this.#acme;
    const reason = orderReason(this.#pair.current, hosts, clock.nowMs());
    let waitMs = CHECK_EVERY_MS;
    try {
      if (reason !== null) {
        logger.info({ hosts, reason, authority: this.#acme.directory.href }, 'acme.ordering');
        await this.#order();
      }
      this.#inRow = 0;
      if (this.#failures.problem !== null) await this.#failures.clear();
    } catch (error) {
      this.#inRow += 1;
      const nowMs = clock.nowMs();
      const problem = this.#problemOf(error);
      // Without the file, only a restart would order too early.
      await this.#failures.add(problem, nowMs).catch(() => undefined);
      waitMs = Math.max(retryMs(this.#inRow), limitWaitMs(this.#failures.failedAtMs, nowMs));
      if (!this.#closed)
        logger.error({ hosts, reason: problem, retry_secs: waitMs / SECOND_MS }, 'acme.failed');
    }
    this.#schedule(waitMs);
  }

  #problemOf(error: unknown): string {
    // The library throws a TypeError if a request gets no answer, and hides the reason.
    return error instanceof TypeError
      ? `${this.#acme.directory.host} does not answer, or its certificate is not trusted`
      : errorText(error);
  }

  #schedule(waitMs: number): void {
    if (this.#closed) return;
    const { clock, random } = this.#deps;
    // A random part, because many instances may have been started at the same time.
    const randomMs = Math.floor(random.number() * 0.1 * waitMs);
    this.#timer = clock.setTimeout(() => void this.#check(), waitMs + randomMs);
  }

  /** @throws with the authority's reason */
  async #order(): Promise<void> {
    const { hosts, email, directory, caFile } = this.#acme;
    // Imported only here, because most instances have no ACME and most starts need no order.
    const { default: acme } = await import('acme-client');
    Object.assign(acme.axios.defaults, {
      timeout: REQUEST_LIMIT_MS,
      maxContentLength: MAX_ANSWER_BYTES,
      // A failed request fails the order, which is repeated later. The library would wait as long as the server wishes.
      acmeSettings: { retryMaxAttempts: 0 },
      ...(caFile !== null && { httpsAgent: new https.Agent({ ca: await readFile(caFile, 'utf8') }) }),
    });
    const client = new acme.Client({
      directoryUrl: directory.href,
      accountKey: await this.#accountKey(acme.crypto),
    });
    const key = await acme.crypto.createPrivateEcdsaKey();
    const [, csr] = await acme.crypto.createCsr({ altNames: [...hosts] }, key);
    try {
      const cert = await client.auto({
        csr,
        ...(email !== null && { email }),
        termsOfServiceAgreed: true,
        challengePriority: ['http-01'],
        // Without this, the client would request the address itself first, which fails behind many home routers.
        skipChallengeVerification: true,
        challengeCreateFn: async (_authorization, { token }, answer) => void this.#answers.set(token, answer),
        challengeRemoveFn: async (_authorization, { token }) => void this.#answers.delete(token),
      });
      if (this.#closed) return;
      // Write the key first. A check between the two files finds a pair that does not fit, and reads it again later.
      await writeWhole(this.#paths.keyFile, key.toString(), 0o600);
      await writeWhole(this.#paths.certFile, cert, 0o644);
    } finally {
      this.#answers.clear();
    }
    await this.#pair.reload();
    const left = orderReason(this.#pair.current, hosts, this.#deps.clock.nowMs());
    if (left !== null) throw new Error(`the issued certificate cannot be used (${left})`);
  }

  async #accountKey({ createPrivateEcdsaKey }: typeof import('acme-client').crypto): Promise<string> {
    const file = join(dirname(this.#paths.keyFile), 'account.pem');
    if (existsSync(file)) return readFile(file, 'utf8');
    const key = (await createPrivateEcdsaKey()).toString();
    await writeWhole(file, key, 0o600);
    return key;
  }
}
