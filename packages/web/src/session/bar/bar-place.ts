import type { UiPreferences } from '@footlight/protocol/rest';

export type Edge = 'top' | 'bottom' | 'left' | 'right';

/** Edge at which the bar is, and the way to open it. */
export interface BarPlace {
  edge: Edge;
  /** true: a small handle opens the bar; false: a pointer that rests at the edge */
  handle: boolean;
}

/**
 * Reads the bar's place from the settings of the web client. The stored value `minimal` of `strip_preset` means the
 * handle.
 */
export function barPlace(settings: UiPreferences | undefined): BarPlace {
  const { strip_position = 'top', strip_preset } = settings?.session_overlay ?? {};
  return { edge: strip_position, handle: strip_preset === 'minimal' };
}

/** The settings with a new place of the bar. */
export function withBarPlace(settings: UiPreferences | undefined, { edge, handle }: BarPlace): UiPreferences {
  const session_overlay = {
    ...settings?.session_overlay,
    strip_position: edge,
    strip_preset: handle ? 'minimal' : 'full',
  } as const;
  return { ...settings, session_overlay };
}

/** Whether a point is at most this many pixels from the edge. */
export function isAtEdge(
  { x, y }: { x: number; y: number },
  edge: Edge,
  size: { width: number; height: number },
  pixels: number,
): boolean {
  if (edge === 'top') return y < pixels;
  if (edge === 'left') return x < pixels;
  return edge === 'bottom' ? y >= size.height - pixels : x >= size.width - pixels;
}
