import dagre from '@dagrejs/dagre';
import { useMemo } from 'react';
import { plural, t } from '../../../i18n/translate.ts';
import styles from './pipeline.module.css';
import { capsLabel, type PipelineGraph } from './pipeline-graph.ts';

/** Sizes in pixels. A name of thirty characters fits into a box. */
const BOX = { width: 216, height: 44 };
const MAX_CHARACTERS = 30;

interface Placed {
  width: number;
  height: number;
  boxes: { id: string; name: string; type: string; state: string; x: number; y: number }[];
  arrows: { key: string; path: string; label: string; whole: string; x: number; y: number }[];
}

/** Places the elements from top to bottom, in the order in which they process the picture. */
function place(graph: PipelineGraph): Placed {
  const layout = new dagre.graphlib.Graph();
  layout.setGraph({ rankdir: 'TB', nodesep: 40, ranksep: 44, marginx: 8, marginy: 8 });
  layout.setDefaultEdgeLabel(() => ({}));
  // Uses numbers as names, because the layout library stores nodes as members of objects, and a host may send the name
  // "__proto__".
  const nodes = new Map(graph.elements.map(({ id }, n) => [id, `element ${n}`]));
  const nodeOf = (id: string) => nodes.get(id) ?? '';
  for (const { id } of graph.elements) layout.setNode(nodeOf(id), { ...BOX });
  for (const { from, to } of graph.links) layout.setEdge(nodeOf(from), nodeOf(to), {});
  dagre.layout(layout);
  const { width = 0, height = 0 } = layout.graph();
  return {
    width,
    height,
    boxes: graph.elements.map((element) => {
      const { x, y } = layout.node(nodeOf(element.id));
      return { ...element, x: x - BOX.width / 2, y: y - BOX.height / 2 };
    }),
    arrows: graph.links.map(({ from, to, caps }) => {
      const points: readonly { x: number; y: number }[] = layout.edge(nodeOf(from), nodeOf(to)).points ?? [];
      const middle = points[Math.floor(points.length / 2)] ?? { x: 0, y: 0 };
      return {
        key: `${from} ${to}`,
        path: points.map(({ x, y }, n) => `${n === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join(''),
        label: capsLabel(caps),
        whole: caps.join('\n'),
        ...middle,
      };
    }),
  };
}

/** A pipeline as a drawing. The page shows its text below the drawing. */
export function PipelineDrawing({ graph }: { graph: PipelineGraph }) {
  const { width, height, boxes, arrows } = useMemo(() => place(graph), [graph]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, which a keyboard must be able to do
    <section className={styles.frame} tabIndex={0} aria-label={t('The pipeline as a picture')}>
      <svg
        width={width + BOX.width}
        height={height}
        viewBox={`0 0 ${width + BOX.width} ${height}`}
        role="img"
        aria-label={plural(boxes.length, '{n} element: {names}', '{n} elements: {names}', {
          names: boxes.map(({ name }) => name).join(', '),
        })}
      >
        <defs>
          <marker
            id="pipeline-arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="8"
            markerHeight="8"
            orient="auto"
          >
            <path className={styles.head} d="M0 0L8 4L0 8z" />
          </marker>
        </defs>
        {arrows.map(({ key, path, label, whole, x, y }) => (
          <g key={key}>
            <path className={styles.arrow} d={path} markerEnd="url(#pipeline-arrow)" />
            <text className={styles.caps} x={x + 8} y={y + 4}>
              {label}
              <title>{whole}</title>
            </text>
          </g>
        ))}
        {boxes.map(({ id, name, type, state, x, y }) => (
          <g key={id} className={styles.box}>
            <rect x={x} y={y} width={BOX.width} height={BOX.height} rx={8} />
            <text className={styles.name} x={x + 12} y={y + 18}>
              {short(name)}
            </text>
            <text className={styles.type} x={x + 12} y={y + 34}>
              {short([type.replace(/^Gst/, ''), state].filter(Boolean).join(', '))}
            </text>
            <title>{`${name}\n${type}\n${state}`}</title>
          </g>
        ))}
      </svg>
    </section>
  );
}

const short = (text: string): string =>
  text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS - 1)}…` : text;
