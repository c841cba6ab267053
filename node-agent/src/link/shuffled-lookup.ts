import { type LookupAddress, type LookupAllOptions, lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { Random } from '@footlight/platform';

/** Finds all addresses of a name, like `dns.lookup` with the option `all`. */
export type Resolve = (
  name: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * A lookup for connections that returns the addresses of a name in random order. The system returns them in the same
 * order each time, so the agents of a fleet would all connect to the same replica, and would return to it while it
 * answers 503.
 *
 * Node connects to the first address. If it refuses, or does not accept within 250 ms, Node tries the next one
 * (autoSelectFamily, the default since Node 20).
 */
export function shuffledLookup(
  random: Pick<Random, 'number'>,
  resolve: Resolve = systemLookup,
): LookupFunction {
  return (name, options, done) =>
    resolve(name, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return done(error, []);
      const keyed = addresses.map((address) => ({ address, key: random.number() }));
      const shuffled = keyed.sort((a, b) => a.key - b.key).map(({ address }) => address);
      const [first] = shuffled;
      // Without autoSelectFamily, which NODE_OPTIONS can switch off, Node asks for one address.
      if (options.all || first === undefined) done(null, shuffled);
      else done(null, first.address, first.family);
    });
}
