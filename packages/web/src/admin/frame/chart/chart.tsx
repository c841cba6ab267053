import { type PointerEvent, useEffect, useLayoutEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useScheme } from '../../../theme/scheme.ts';
import styles from './chart.module.css';
import { alignedData } from './chart-lines.ts';
import { type ChartProps, placeCursor, plotOptions } from './plot-options.ts';

/**
 * A chart of lines over time, or over another number. Screen readers ignore it, so its page must also show the values
 * as text or as a table.
 *
 * The page holds the place of the cursor, so that all charts and texts of a page show the same moment.
 */
export function Chart(props: ChartProps) {
  const { lines, axes } = props;
  return <Plot key={`${useScheme()} ${lines.length} ${axes?.x !== undefined}`} {...props} />;
}

/** The sign of a chart's line, next to its name. @param props.line position among the lines */
export function ChartKey({ line }: { line: number }) {
  return <i className={styles.key} data-line={line % 4} aria-hidden="true" />;
}

function Plot(props: ChartProps) {
  const { lines, from, to, top, limit, bands, marks, cursor, onCursor } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const latest = useRef(props);
  useLayoutEffect(() => {
    latest.current = props;
  });
  useEffect(() => {
    const node = box.current;
    if (node === null) return;
    const observer = new ResizeObserver(() => {
      const size = { width: node.clientWidth, height: node.clientHeight };
      // In a collapsed part of a page the box has no size yet.
      if (size.width === 0) return;
      if (plot.current !== null) plot.current.setSize(size);
      else {
        const options = plotOptions(node, () => latest.current);
        plot.current = new uPlot(options, alignedData(latest.current.lines), node);
      }
    });
    observer.observe(node);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the plot reads the others from the latest properties
  useEffect(() => {
    plot.current?.setData(alignedData(lines));
  }, [lines, from, to, top, limit, bands, marks]);
  useEffect(() => {
    if (plot.current !== null) placeCursor(plot.current, cursor);
  }, [cursor]);
  const follow = ({ clientX }: PointerEvent) => {
    if (plot.current === null || onCursor === undefined) return;
    const { left } = plot.current.over.getBoundingClientRect();
    onCursor(Math.min(to, Math.max(from, Math.round(plot.current.posToVal(clientX - left, 'x')))));
  };
  return (
    <div
      ref={box}
      className={`${styles.chart} ${props.className ?? ''}`}
      data-cursor={onCursor !== undefined}
      aria-hidden="true"
      onPointerMove={follow}
      onPointerDown={follow}
      onPointerLeave={() => onCursor?.(undefined)}
    />
  );
}
