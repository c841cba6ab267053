import type { StreamClient } from '@footlight/stream-client';
import {
  type PointerEvent,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { t } from '../../i18n/translate.ts';
import { PadFingers, type PadPicture, readingOf } from './pad-fingers.ts';
import {
  CROSS,
  type PadArea,
  type PadControl,
  type PadLayoutName,
  type PadShift,
  placePad,
  shiftPad,
} from './pad-layouts.ts';
import styles from './touch.module.css';

/** Duration of the vibration for a press, ms. It is noticeable and shorter than a tap. Chosen, not measured. */
const BUZZ_MS = 8;
export const NOTHING: PadPicture = { pressed: new Set(), sticks: new Map() };
/** The cross's arms, clockwise. */
const ARMS = [
  ['up', 'M12 5l6 8H6z'],
  ['right', 'M19 12l-8 6V6z'],
  ['down', 'M12 19l-6-8h12z'],
  ['left', 'M5 12l8-6v12z'],
] as const;

/** A gamepad over the picture. The app treats it like a gamepad that is plugged in. */
export function OnScreenPad(props: {
  client: StreamClient;
  layout: PadLayoutName;
  shift: PadShift;
  /** whether the pad is invisible; it stays plugged in for the app */
  hidden: boolean;
  /**
   * free space above the controls on an upright screen, CSS pixels; null: the controls are at the sides, or there are
   * none
   */
  onRoom: (room: number | null) => void;
}) {
  const { client, layout, shift, onRoom } = props;
  const element = useRef<HTMLFieldSetElement>(null);
  const area = usePadArea(element);
  const [picture, setPicture] = useState(NOTHING);
  const placed = useMemo(() => (area === null ? [] : placePad(layout, area)), [layout, area]);
  const controls = useMemo(() => (area === null ? [] : shiftPad(placed, area, shift)), [placed, area, shift]);
  const fingers = useMemo(() => new PadFingers(controls), [controls]);

  // After a rotation the controls have other positions, so held controls are released.
  useEffect(() => {
    setPicture(NOTHING);
    client.setOnScreenPad(readingOf(fingers.picture));
  }, [client, fingers]);
  useEffect(() => () => client.setOnScreenPad(null), [client]);
  useEffect(() => {
    const isUpright = area !== null && area.height > area.width;
    // The person has moved parts over the picture on purpose.
    onRoom(isUpright ? Math.min(...placed.map(({ top }) => top)) : null);
    return () => onRoom(null);
  }, [area, placed, onRoom]);

  const handle = (event: PointerEvent, change: (id: number, at: { x: number; y: number }) => void) => {
    const { left = 0, top = 0 } = element.current?.getBoundingClientRect() ?? {};
    change(event.pointerId, { x: event.clientX - left, y: event.clientY - top });
    const now = fingers.picture;
    const isNew = [...now.pressed].some((index) => !picture.pressed.has(index));
    if (isNew) navigator.vibrate?.(BUZZ_MS);
    setPicture(now);
    client.setOnScreenPad(readingOf(now));
  };
  const lift = (event: PointerEvent) => handle(event, (id) => fingers.up(id));
  return (
    <fieldset
      ref={element}
      className={styles.pad}
      aria-label={t('Gamepad on the screen')}
      data-stream-overlay=""
      data-hidden={props.hidden}
      onPointerDown={(event) => handle(event, (id, at) => fingers.down(id, at))}
      onPointerMove={(event) => handle(event, (id, at) => fingers.move(id, at))}
      onPointerUp={lift}
      onPointerCancel={lift}
      onContextMenu={(event) => event.preventDefault()}
    >
      {controls.map((control) => (
        <Control key={`${control.kind} ${control.label}`} control={control} picture={picture} />
      ))}
    </fieldset>
  );
}

/** The size of the pad's element; null: not measured yet. */
export function usePadArea(element: RefObject<HTMLElement | null>): PadArea | null {
  const [area, setArea] = useState<PadArea | null>(null);
  useLayoutEffect(() => {
    const container = element.current;
    if (container === null) return;
    const measure = () => setArea({ width: container.clientWidth, height: container.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(container);
    return () => observer.disconnect();
  }, [element]);
  return area;
}

export function Control({ control, picture }: { control: PadControl; picture: PadPicture }) {
  const { kind, left, top, size, label, index } = control;
  const stick = picture.sticks.get(index);
  return (
    <div
      className={styles.control}
      data-kind={kind}
      data-control={label}
      data-pressed={kind === 'button' ? picture.pressed.has(index) : stick !== undefined && kind === 'stick'}
      style={{ left, top, width: size, height: size }}
    >
      {kind === 'button' && <span>{label}</span>}
      {kind === 'stick' && (
        <i
          className={styles.knob}
          style={{ translate: `${(stick?.x ?? 0) * (size / 4)}px ${(stick?.y ?? 0) * (size / 4)}px` }}
        />
      )}
      {kind === 'cross' &&
        ARMS.map(([arm, path]) => (
          <svg
            key={arm}
            className={styles.arm}
            data-arm={arm}
            data-pressed={picture.pressed.has(CROSS[arm])}
            viewBox="0 0 24 24"
            aria-hidden="true"
          >
            <path d={path} fill="currentColor" />
          </svg>
        ))}
    </div>
  );
}
