/** A set of ports as sorted, separate, inclusive ranges. */
export type PortSet = readonly (readonly [low: number, high: number])[];

export const NO_PORTS: PortSet = [];
export const ALL_PORTS: PortSet = [[0, 65_535]];

export function portSet(ranges: PortSet): PortSet {
  const merged: [number, number][] = [];
  for (const [low, high] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last !== undefined && low <= last[1] + 1) last[1] = Math.max(last[1], high);
    else if (low <= high) merged.push([low, high]);
  }
  return merged;
}

export function union(a: PortSet, b: PortSet): PortSet {
  return portSet([...a, ...b]);
}

export function intersection(a: PortSet, b: PortSet): PortSet {
  return portSet(
    a.flatMap(([low, high]) =>
      b.map(([from, to]) => [Math.max(low, from), Math.min(high, to)] as const).filter(([x, y]) => x <= y),
    ),
  );
}

export function without(a: PortSet, b: PortSet): PortSet {
  return intersection(a, complement(b));
}

export function complement(set: PortSet): PortSet {
  const gaps: [number, number][] = [];
  let next = 0;
  for (const [low, high] of set) {
    if (low > next) gaps.push([next, low - 1]);
    next = high + 1;
  }
  if (next <= 65_535) gaps.push([next, 65_535]);
  return gaps;
}

/** @param dash separator of a range: nft and firewalld use "-", iptables and ufw ":" */
export function portWords(set: PortSet, dash: '-' | ':' = '-'): string[] {
  return set.map(([low, high]) => (low === high ? String(low) : `${low}${dash}${high}`));
}
