import type { DueHome, GcConfirmed, GcPending } from '@footlight/protocol/agent';
import type { GcControl } from '../home-collection.ts';

/** The control plane's record of a home: kept, or marked for deletion with its grace period over. */
type State = 'kept' | 'due';

/** A fake of the control plane's part of the collection, without a database. */
export class ControlModel implements GcControl {
  readonly #homes = new Map<string, DueHome & { state: State }>();
  /** Ids of homes in all confirmation requests. */
  readonly asked: string[] = [];
  /** Whether answers contain a cursor for the next page. */
  pages = true;
  /** Called before each answer to a confirmation; if it rejects, no answer is sent. */
  beforeAnswer: (id: string) => Promise<void> | void = () => undefined;

  add(home: DueHome, state: State = 'due'): void {
    this.#homes.set(home.id, { ...home, state });
  }

  /** Sets the state of a record: kept by a launch, or marked for deletion with its grace period over. */
  set(id: string, state: State): void {
    const home = this.#homes.get(id);
    if (home !== undefined) home.state = state;
  }

  stateOf(id: string): State | 'deleted' {
    return this.#homes.get(id)?.state ?? 'deleted';
  }

  async pending(cursor: string | null = null): Promise<GcPending> {
    const all = [...this.#homes.values()];
    const after = cursor === null ? 0 : Number(cursor);
    const due = all.filter(({ state }, place) => state === 'due' && place >= after);
    const homes = due.slice(0, 100).map(({ id, provider, ref }) => ({ id, provider, ref }));
    const next = due[100];
    return { homes, next_cursor: this.pages && next ? String(all.indexOf(next)) : null };
  }

  async confirm(homeIds: readonly string[]): Promise<GcConfirmed> {
    for (const id of homeIds) {
      this.asked.push(id);
      await this.beforeAnswer(id);
    }
    const kept = homeIds.filter((id) => this.stateOf(id) === 'kept');
    const deleted = homeIds.filter((id) => !kept.includes(id));
    for (const id of deleted) this.#homes.delete(id);
    return { deleted: deleted.length, deleted_ids: deleted, kept_ids: kept };
  }
}
