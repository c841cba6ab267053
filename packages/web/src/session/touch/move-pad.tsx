import { Button } from '@mantine/core';
import { type PointerEvent, useRef, useState } from 'react';
import { t } from '../../i18n/translate.ts';
import { Control, NOTHING, usePadArea } from './on-screen-pad.tsx';
import { type PadGroup, type PadLayoutName, type PadShift, placePad, shiftPad } from './pad-layouts.ts';
import styles from './touch.module.css';

/** A finger that drags a part of the pad; x and y: where it touched, CSS pixels. */
interface Drag {
  pointer: number;
  group: PadGroup;
  x: number;
  y: number;
}

/** The gamepad over the picture while a person moves its parts: left side, right side, middle. */
export function MovePad(props: {
  layout: PadLayoutName;
  shift: PadShift;
  onShift: (shift: PadShift) => void;
  onDone: () => void;
}) {
  const { layout, shift } = props;
  const element = useRef<HTMLFieldSetElement>(null);
  const area = usePadArea(element);
  const [drag, setDrag] = useState<Drag | null>(null);
  const [moved, setMoved] = useState({ x: 0, y: 0 });
  const places = area === null ? [] : placePad(layout, area);
  const now: PadShift =
    drag === null
      ? shift
      : {
          ...shift,
          [drag.group]: {
            x: (shift[drag.group]?.x ?? 0) + moved.x,
            y: (shift[drag.group]?.y ?? 0) + moved.y,
          },
        };
  const controls = area === null ? [] : shiftPad(places, area, now);
  const begin = (event: PointerEvent, group: PadGroup) => {
    if (drag !== null) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    setMoved({ x: 0, y: 0 });
    setDrag({ pointer: event.pointerId, group, x: event.clientX, y: event.clientY });
  };
  const follow = (event: PointerEvent) => {
    if (drag === null || area === null || event.pointerId !== drag.pointer) return;
    setMoved({ x: (event.clientX - drag.x) / area.width, y: (event.clientY - drag.y) / area.height });
  };
  const finish = (event: PointerEvent) => {
    if (drag === null || area === null || event.pointerId !== drag.pointer) return;
    const { group } = drag;
    // The stored shift is the shown one, which ends at the edges of the area.
    const from = places.find((control) => control.group === group);
    const to = controls.find((control) => control.group === group);
    if (from !== undefined && to !== undefined)
      props.onShift({
        ...shift,
        [group]: { x: (to.left - from.left) / area.width, y: (to.top - from.top) / area.height },
      });
    setDrag(null);
  };
  return (
    <>
      <fieldset
        ref={element}
        className={styles.pad}
        aria-label={t('Gamepad on the screen')}
        data-stream-overlay=""
        data-moving=""
      >
        {controls.map((control) => (
          <div
            key={`${control.kind} ${control.label}`}
            onPointerDown={(event) => begin(event, control.group)}
            onPointerMove={follow}
            onPointerUp={finish}
            onPointerCancel={({ pointerId }) => pointerId === drag?.pointer && setDrag(null)}
          >
            <Control control={control} picture={NOTHING} />
          </div>
        ))}
      </fieldset>
      <div className={styles.moveBar} data-stream-overlay="">
        <p>{t('Drag each side to where your thumbs are.')}</p>
        <Button onClick={() => props.onShift({})}>{t('Reset')}</Button>
        <Button variant="filled" onClick={props.onDone}>
          {t('Done')}
        </Button>
      </div>
    </>
  );
}
