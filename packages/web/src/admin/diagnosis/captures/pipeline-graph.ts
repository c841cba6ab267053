/** The graph of a pipeline, read from GStreamer's Graphviz text. Pure. */

/** An element, such as an encoder. */
export interface PipelineElement {
  id: string;
  /** The element's name in the pipeline, such as `encoder`. */
  name: string;
  /** The element's type, such as `GstVaapiEncodeH264`; "": the text contains no type. */
  type: string;
  /** The element's state in words; "": the text contains no state. */
  state: string;
}
export interface PipelineLink {
  from: string;
  to: string;
  /** The caps of the link, a line for each field, the media type first; empty: the text contains no caps. */
  caps: readonly string[];
}
export interface PipelineGraph {
  elements: readonly PipelineElement[];
  links: readonly PipelineLink[];
}

/**
 * Limits of a text. Pipelines of sessions have about thirty elements and texts of 50 kB. A host may send any text, and
 * a graph with many elements makes the layout slow. The worst text with 150 elements and 300 links took 15 s, the worst
 * text within these limits 1.7 s (Node 20, load 14).
 */
const MAX_CHARACTERS = 1024 * 1024;
const MAX_ELEMENTS = 60;
const MAX_LINKS = 80;
/** Limit of links between nodes including pads, because an element in a bin has additional links. */
const MAX_PAD_LINKS = 300;
/** Nested bins, including the clusters of their pads. */
const MAX_LEVELS = 32;
/** Ghost pads between two elements: one for each enclosing bin. */
const MAX_PADS = 8;

/** Source: GstDebugUtils, "Element-States" of the legend of each graph. */
const STATES: Readonly<Record<string, string>> = {
  '[~]': 'no state',
  '[0]': 'null',
  '[-]': 'ready',
  '[=]': 'paused',
  '[>]': 'playing',
};

interface Cluster {
  id: string;
  label: string | null;
  parent: Cluster | null;
  /** Whether the cluster contains further elements. */
  isBin: boolean;
}

const QUOTED = String.raw`"((?:[^"\\]|\\.)*)"`;
const LABEL = new RegExp(`^label=${QUOTED}`);
const NODE = /^([A-Za-z_][\w.-]*)\s*\[(.*)$/;
const CAPS = new RegExp(String.raw`(?:^|[\s,[])(?:head)?label=${QUOTED}`, 'g');
/** Names of nodes that set defaults, and of the legend. */
const NO_NODES = new Set(['graph', 'node', 'edge', 'legend']);

/** @returns null: the text has no links, or more links than a page can draw */
export function readPipeline(text: string): PipelineGraph | null {
  const padOwners = new Map<string, Cluster | null>();
  const links: { from: string; to: string; caps: string[] }[] = [];
  let cluster: Cluster | null = null;
  let level = 0;
  if (text.length > MAX_CHARACTERS) return null;
  for (const raw of text.split('\n')) {
    const line = raw.trim();
    const opened = /^subgraph\s+(\S+)\s*\{/.exec(line);
    if (opened !== null) {
      cluster = { id: opened[1] ?? '', label: null, parent: cluster, isBin: false };
      level += 1;
      if (level > MAX_LEVELS) return null;
      continue;
    }
    if (line.startsWith('}')) {
      cluster = cluster?.parent ?? null;
      level = Math.max(0, level - 1);
      continue;
    }
    const label = LABEL.exec(line);
    if (label !== null) {
      if (cluster !== null) {
        cluster.label ??= label[1] ?? '';
        // The clusters of an element's pads have no label.
        const outer = cluster.label === '' ? null : elementOf(cluster.parent);
        if (outer !== null) outer.isBin = true;
      }
      continue;
    }
    if (line.includes('->')) {
      const [path = '', attributes = ''] = splitAt(line, line.indexOf('['));
      const ends = path
        .replace(/;\s*$/, '')
        .split('->')
        .map((end) => end.trim());
      if (links.length + ends.length > MAX_PAD_LINKS) return null;
      const caps = capsOf(attributes);
      for (const [n, to] of ends.entries()) {
        const from = ends[n - 1];
        if (from !== undefined && from !== '' && to !== '') links.push({ from, to, caps });
      }
      continue;
    }
    const node = NODE.exec(line);
    if (node !== null && !NO_NODES.has(node[1] ?? '')) padOwners.set(node[1] ?? '', elementOf(cluster));
  }
  return joined(padOwners, links);
}

/** The nearest enclosing cluster that is an element or a bin. */
function elementOf(cluster: Cluster | null): Cluster | null {
  let at = cluster;
  while (at !== null && (at.label ?? '') === '') at = at.parent;
  return at;
}

const splitAt = (text: string, at: number): [string, string] =>
  at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at)];

/** The caps of a link. If both ends of the link have caps, those of the receiving end. */
function capsOf(attributes: string): string[] {
  const told = [...attributes.matchAll(CAPS)]
    .map((match) => match[1] ?? '')
    .filter((each) => each.trim() !== '');
  return (told.at(-1) ?? '')
    .split(/\\l|\\n/)
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

/** Elements with the links between them. Pads of bins are skipped. */
function joined(
  padOwners: ReadonlyMap<string, Cluster | null>,
  links: readonly PipelineLink[],
): PipelineGraph | null {
  const next = new Map<string, PipelineLink[]>();
  for (const link of links) next.set(link.from, [...(next.get(link.from) ?? []), link]);
  const passes = (pad: string) => padOwners.get(pad)?.isBin === true;
  const elements = new Map<string, PipelineElement>();
  const found = new Map<string, PipelineLink>();
  const nameOf = (pad: string): string => {
    const element = elementFor(pad, padOwners.get(pad) ?? null);
    elements.set(element.id, element);
    return element.id;
  };
  for (const first of links) {
    if (passes(first.from)) continue;
    // Breadth-first search through the pads of bins. Visits each pad once, because the number of paths grows
    // exponentially.
    const passed = new Set<string>();
    let ends: PipelineLink[] = [first];
    for (let hop = 0; hop < MAX_PADS && ends.length > 0; hop++) {
      const further: PipelineLink[] = [];
      for (const { to, caps } of ends) {
        const told = caps.length > 0 ? caps : first.caps;
        if (passes(to)) {
          if (passed.has(to)) continue;
          passed.add(to);
          for (const link of next.get(to) ?? [])
            further.push({ ...link, caps: link.caps.length > 0 ? link.caps : told });
          continue;
        }
        const [from, end] = [nameOf(first.from), nameOf(to)];
        if (from !== end) found.set(`${from} ${end}`, { from, to: end, caps: told });
        if (found.size > MAX_LINKS || elements.size > MAX_ELEMENTS) return null;
      }
      ends = further;
    }
  }
  return found.size === 0 ? null : { elements: [...elements.values()], links: [...found.values()] };
}

function elementFor(pad: string, cluster: Cluster | null): PipelineElement {
  if (cluster === null) return { id: pad, name: pad, type: '', state: '' };
  const [type = '', name = '', state = ''] = (cluster.label ?? '').split('\\n');
  return { id: cluster.id, name: name || type || cluster.id, type, state: STATES[state] ?? '' };
}

/** The caps of a link in short form: "video/x-raw, I420, 1280 × 720". */
export function capsLabel(caps: readonly string[]): string {
  const field = (name: string) =>
    caps
      .find((line) => line.startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim()
      .replace(/^\([^)]*\)/, '')
      .trim();
  const [media = ''] = caps;
  const size =
    field('width') !== undefined && field('height') !== undefined
      ? `${field('width')} × ${field('height')}`
      : '';
  return [media.replace(/\(.*$/, ''), field('format') ?? field('encoding-name') ?? '', size]
    .filter(Boolean)
    .join(', ');
}
