/** The methods of each declared path. They distinguish an unknown path from a wrong method. */
export class MethodTable {
  readonly #paths = new Map<string, { pattern: RegExp; methods: Set<string> }>();

  /** @param path in the form `/v1/apps/{id}` */
  add(method: string, path: string): void {
    let entry = this.#paths.get(path);
    if (!entry) {
      const pattern = path.replace(/[.*+?^$|()[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+');
      entry = { pattern: new RegExp(`^${pattern}$`), methods: new Set() };
      this.#paths.set(path, entry);
    }
    entry.methods.add(method);
    if (method === 'GET') entry.methods.add('HEAD');
  }

  /** Methods of declared paths that match `path`, sorted; [] for an unknown path. */
  allowed(path: string): string[] {
    const methods = new Set<string>();
    for (const entry of this.#paths.values()) {
      if (entry.pattern.test(path)) for (const method of entry.methods) methods.add(method);
    }
    return [...methods].sort();
  }
}
