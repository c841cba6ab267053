import type { AppListItem } from '@footlight/protocol/rest';
import { defaultRangeExtractor, type Range, useWindowVirtualizer } from '@tanstack/react-virtual';
import { type RefObject, useCallback, useDeferredValue, useLayoutEffect, useRef, useState } from 'react';
import { type GridShape, gridShape, gridWidth } from './grid-shape.ts';
import styles from './library.module.css';
import { Tile, type TileActions } from './tile.tsx';

/**
 * Number of rows that are rendered above and below the window. A held arrow key moves through at most eleven rows a
 * second.
 */
const ROWS_BEYOND = 4;

/** A grid of many tiles. Only rows near the window, and the row with the tab stop, are in the document. */
export function VirtualTiles(props: {
  apps: readonly AppListItem[];
  section: string;
  stop: string | null;
  actions: TileActions;
}) {
  const { apps } = props;
  const list = useRef<HTMLUListElement>(null);
  const { shape, top } = useGridPlace(list);
  const { columns, cellWidth, rowHeight } = shape;
  const stopRow = Math.floor(apps.findIndex(({ id }) => id === props.stop) / columns);
  const rangeExtractor = useCallback(
    (range: Range) => {
      const rows = defaultRangeExtractor(range);
      return stopRow < 0 || rows.includes(stopRow) ? rows : [...rows, stopRow].sort((a, b) => a - b);
    },
    [stopRow],
  );
  // The rows of the window are rendered first.
  const overscan = useDeferredValue(ROWS_BEYOND, 0);
  const virtual = useWindowVirtualizer({
    count: Math.ceil(apps.length / columns),
    estimateSize: () => rowHeight,
    overscan,
    scrollMargin: top,
    rangeExtractor,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the sizes of all rows follow it
  useLayoutEffect(() => virtual.measure(), [virtual, rowHeight]);

  return (
    <ul
      ref={list}
      className={styles.virtual}
      data-scrolling={virtual.isScrolling}
      style={{ height: virtual.getTotalSize() }}
    >
      {virtual
        .getVirtualItems()
        .flatMap((row) =>
          apps
            .slice(row.index * columns, (row.index + 1) * columns)
            .map((app, column) => (
              <Tile
                key={app.id}
                app={app}
                section={props.section}
                isStop={app.id === props.stop}
                place={placeAt(column * cellWidth, row.start - top, cellWidth)}
                position={row.index * columns + column + 1}
                total={apps.length}
                actions={props.actions}
              />
            )),
        )}
    </ul>
  );
}

/** Returns the same object for the same position, so that a tile that does not move is not rendered again. */
const places = new Map<string, { left: number; top: number; width: number }>();
const MAX_PLACES = 5_000;

function placeAt(left: number, top: number, width: number) {
  const key = `${left} ${top} ${width}`;
  const known = places.get(key);
  if (known !== undefined) return known;
  if (places.size >= MAX_PLACES) places.clear();
  const place = { left, top, width };
  places.set(key, place);
  return place;
}

/**
 * Largest invisible difference between two cell widths, in CSS pixels, because browsers round widths to whole pixels.
 */
const CELL_TOLERANCE = 0.5;

/** Size of the grid's cells, and its distance to the top of the document. */
interface GridPlace {
  shape: GridShape;
  top: number;
}

/** The position of the grid; the component renders again when it changes. */
function useGridPlace(list: RefObject<HTMLElement | null>): GridPlace {
  // Computes the first tiles with their final width, so that they are not rendered twice.
  const [place, setPlace] = useState<GridPlace>(() => {
    const width = gridWidth(document.documentElement.clientWidth, window.innerWidth);
    return { shape: gridShape(width, window.innerWidth), top: 0 };
  });
  useLayoutEffect(() => {
    const element = list.current;
    if (element === null) return;
    const measure = () => {
      const shape = gridShape(element.clientWidth, window.innerWidth);
      const top = Math.round(element.getBoundingClientRect().top + window.scrollY);
      setPlace((before) => {
        const same = Math.abs(before.shape.cellWidth - shape.cellWidth) < CELL_TOLERANCE;
        return before.top === top && same ? before : { shape: same ? before.shape : shape, top };
      });
    };
    measure();
    // Sections above the grid appear and disappear, which moves the grid and changes the page's height.
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [list]);
  return place;
}
