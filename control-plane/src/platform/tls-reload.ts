import { stat } from 'node:fs/promises';
import { type Clock, errorText, type Logger, SECOND_MS, type Timer } from '@footlight/platform';
import { type Certificate, type PairPaths, readPair, validityOf, warnAbout } from './tls.ts';

/** Interval of the checks for new files. A check reads the metadata of two files. */
const CHECK_EVERY_MS = 10 * SECOND_MS;

/**
 * The operator's key pair, which is read again when its files change. A new pair that cannot be used is refused, and the
 * former one stays in use.
 *
 * Metadata is compared instead of watching the files, because watches miss changes behind symbolic links (certbot's
 * live/, Kubernetes' ..data) and on network file systems. A refused pair is read again at each check, because its files
 * may have been read while they were written.
 */
export class ReloadedCertificate {
  readonly #paths: PairPaths;
  readonly #deps: { clock: Clock; logger: Logger };
  #current: Certificate;
  #use: (pair: Certificate) => void = () => undefined;
  #timer: Timer | null = null;
  #closed = false;
  #running: Promise<void> | null = null;
  /** reload() was called since the last check began. */
  #requested = false;
  /** Metadata of the files of the pair in use; null: the next check reads the files. */
  #inUse: string | null = null;
  /** Metadata and reason of the last refusal; null: the last check succeeded. */
  #refused: string | null = null;
  #logged: string | null = null;

  constructor(first: Certificate, paths: PairPaths, deps: { clock: Clock; logger: Logger }) {
    this.#current = first;
    this.#paths = paths;
    this.#deps = deps;
  }

  get current(): Certificate {
    return this.#current;
  }

  /** Starts the checks. @param use called with each new pair; if it throws, the former pair stays in use */
  start(use: (pair: Certificate) => void): void {
    this.#use = use;
    this.#timer = this.#deps.clock.setInterval(() => void this.check(), CHECK_EVERY_MS);
  }

  /** Reads the files if they have changed, or if the former check did not succeed. Never rejects. */
  check(): Promise<void> {
    this.#running ??= this.#checkWhileRequested().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** Reads the files in any case, and logs a refusal at once. Never rejects. */
  reload(): Promise<void> {
    this.#requested = true;
    return this.check();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  async #checkWhileRequested(): Promise<void> {
    do {
      const requested = this.#requested;
      this.#requested = false;
      await this.#checkOnce(requested);
    } while (this.#requested && !this.#closed);
  }

  async #checkOnce(requested: boolean): Promise<void> {
    let files = '';
    try {
      files = await metadataOf(this.#paths);
      if (!requested && files === this.#inUse) return;
      const pair = await readPair(this.#paths, 'provided');
      // The files changed while they were read. The next check reads them again.
      if ((await metadataOf(this.#paths)) !== files || this.#closed) return;
      this.#take(pair);
      this.#inUse = files;
      this.#refused = null;
      this.#logged = null;
    } catch (error) {
      this.#refuse(`${files} ${errorText(error)}`, error, requested);
    }
  }

  /** @throws with a sentence when the pair in use is better */
  #take(pair: Certificate): void {
    const { clock, logger } = this.#deps;
    const path = this.#paths.certFile;
    if (pair.cert === this.#current.cert && pair.key === this.#current.key) return;
    const validity = validityOf(pair, clock.nowMs());
    if (validity !== 'valid' && validityOf(this.#current, clock.nowMs()) === 'valid')
      throw new Error(`${path} ${validity === 'expired' ? 'has expired' : 'is not valid yet'}`);
    this.#use(pair);
    this.#current = pair;
    warnAbout(pair, path, this.#deps);
    logger.info(
      { mode: 'provided', origin: 'reloaded', path, fingerprint: pair.fingerprint },
      'tls.certificate',
    );
  }

  #refuse(refused: string, err: unknown, requested: boolean): void {
    // Programs write the two files one after the other, so a check between them reads a new certificate with an old key.
    // Therefore a refusal is logged only if the next check gives the same one.
    const isLasting = requested || refused === this.#refused;
    this.#refused = refused;
    this.#inUse = null;
    if (!isLasting || refused === this.#logged || this.#closed) return;
    this.#logged = refused;
    const { certFile: path } = this.#paths;
    this.#deps.logger.error({ err, path, fingerprint: this.#current.fingerprint }, 'tls.refused');
  }
}

/** Text that changes whenever one of the files is written, or replaced behind a symbolic link. */
async function metadataOf({ certFile, keyFile }: PairPaths): Promise<string> {
  const files = await Promise.all([certFile, keyFile].map((path) => stat(path, { bigint: true })));
  return files
    .map(({ dev, ino, size, mtimeNs, ctimeNs }) => [dev, ino, size, mtimeNs, ctimeNs].join(':'))
    .join(' ');
}
