import type { Timer } from '@footlight/platform/timer';
import type { Environment, StreamState } from '../types.ts';
import { decide, publicState } from './machine.ts';
import { type Action, type Fact, INITIAL, type Model, type TimerName } from './model.ts';

/** Actions that the client executes, not the driver. */
export type ClientAction = Exclude<Action, { type: 'set_timer' | 'clear_timer' }>;

export interface DriverEvents {
  perform(action: ClientAction): void;
  /** Called after each fact that changed the public state. */
  onState(state: StreamState, before: StreamState): void;
}

/**
 * Runs the state machine: applies facts in order, runs the timers, and passes all other actions to the client. An
 * action may cause another fact, so facts wait in a queue and are not applied recursively.
 *
 * States: model.ts. Owns the machine's timers; dispose() frees them, and later facts are dropped.
 */
export class Driver {
  readonly #environment: Environment;
  readonly #events: DriverEvents;
  readonly #timers = new Map<TimerName, Timer>();
  #model: Model = INITIAL;
  #state: StreamState = publicState(INITIAL);
  #queue: Fact[] = [];
  #deciding = false;
  #disposed = false;

  constructor(environment: Environment, events: DriverEvents) {
    this.#environment = environment;
    this.#events = events;
  }

  get model(): Model {
    return this.#model;
  }

  get state(): StreamState {
    return this.#state;
  }

  get isDisposed(): boolean {
    return this.#disposed;
  }

  dispatch(fact: Fact): void {
    if (this.#disposed) return;
    this.#queue.push(fact);
    if (this.#deciding) return;
    this.#deciding = true;
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        const step = decide(this.#model, next, {
          nowMs: this.#environment.monotonicMs(),
          random: this.#environment.random(),
        });
        this.#model = step.model;
        for (const action of step.actions) this.#perform(action);
      }
    } finally {
      this.#deciding = false;
    }
    this.#reportState();
  }

  /** Stops the machine and frees its timers; later facts have no effect. */
  dispose(): void {
    this.#disposed = true;
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  #perform(action: Action): void {
    if (action.type === 'set_timer') this.#setTimer(action.name, action.ms);
    else if (action.type === 'clear_timer') this.#clearTimer(action.name);
    else this.#events.perform(action);
  }

  #setTimer(name: TimerName, ms: number): void {
    this.#clearTimer(name);
    const timer = this.#environment.setTimeout(() => {
      this.#timers.delete(name);
      this.dispatch({ type: 'timer', name });
    }, ms);
    this.#timers.set(name, timer);
  }

  #clearTimer(name: TimerName): void {
    this.#timers.get(name)?.cancel();
    this.#timers.delete(name);
  }

  #reportState(): void {
    const state = publicState(this.#model);
    if (JSON.stringify(state) === JSON.stringify(this.#state)) return;
    const before = this.#state;
    this.#state = state;
    this.#events.onState(state, before);
  }
}
