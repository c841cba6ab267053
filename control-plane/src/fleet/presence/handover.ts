import { SECOND_MS, type Timer } from '@footlight/platform';
import type { Subscription } from '../../platform/bus/bus.ts';
import type { Platform } from '../../platform/platform.ts';
import { BUS_LIMIT_MS } from '../agents.ts';
import { replicaSubjects } from '../subjects.ts';

const CHECK_EVERY_MS = 2 * SECOND_MS;
/**
 * Failed checks before the handover. One check may fail because the database is busy. Three take at most 7 s, and hosts
 * must reconnect to another replica within 20 s after a fault.
 */
const FAILED_CHECKS = 3;
/** Bus key of a request that any replica may answer. */
const ANY = 'any';

/**
 * Sends the hosts of this replica to other replicas, while this replica cannot reach the database but another one can.
 * Otherwise no report of these hosts would be stored, and a launch on them would stay in the state `assigned`. When no
 * other replica reaches the database either, the hosts stay, because a reconnect would not help.
 *
 * The fleet of a control plane with a bus owns this object. `close` frees its timer and its bus responder.
 */
export class Handover {
  readonly #platform: Pick<Platform, 'bus' | 'clock' | 'logger'>;
  readonly #answers: () => Promise<boolean>;
  readonly #sendAway: () => void;
  #timer: Timer | null = null;
  /** Confirms to other replicas that this one reaches the database; open only while it does. */
  #responder: Subscription | null = null;
  #failedChecks = 0;
  #checking = false;
  #isActive = false;

  /**
   * @param answers whether the database answers
   * @param sendAway closes the links of all hosts, which then connect again
   */
  constructor(
    platform: Pick<Platform, 'bus' | 'clock' | 'logger'>,
    answers: () => Promise<boolean>,
    sendAway: () => void,
  ) {
    this.#platform = platform;
    this.#answers = answers;
    this.#sendAway = sendAway;
  }

  /** While true, connecting hosts are refused, so that they connect to another replica. */
  get isActive(): boolean {
    return this.#isActive;
  }

  start(): void {
    this.#respond();
    this.#timer = this.#platform.clock.setInterval(() => void this.#check(), CHECK_EVERY_MS);
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#responder?.close();
    this.#responder = null;
  }

  /** Never rejects. */
  async #check(): Promise<void> {
    if (this.#checking) return;
    this.#checking = true;
    const answered = await this.#answers();
    if (this.#timer === null) return;
    if (answered) this.#reached();
    else await this.#missed();
    this.#checking = false;
  }

  #reached(): void {
    this.#failedChecks = 0;
    if (this.#responder === null) this.#respond();
    if (!this.#isActive) return;
    this.#isActive = false;
    this.#platform.logger.info({}, 'fleet.takes_hosts');
  }

  async #missed(): Promise<void> {
    this.#failedChecks += 1;
    this.#responder?.close();
    this.#responder = null;
    if (this.#failedChecks < FAILED_CHECKS) return;
    const { kind } = await this.#platform.bus.request(replicaSubjects.database, ANY, {}, BUS_LIMIT_MS);
    const anotherReachesIt = kind === 'reply';
    if (anotherReachesIt && !this.#isActive) {
      this.#isActive = true;
      this.#platform.logger.warn({}, 'fleet.hands_hosts_over');
      this.#sendAway();
    } else if (!anotherReachesIt) {
      this.#isActive = false;
    }
  }

  #respond(): void {
    this.#responder = this.#platform.bus.respond(replicaSubjects.database, ANY, async () => ({}));
  }
}
