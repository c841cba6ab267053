/** Gamepads that the page may read. None on a page without TLS, where Firefox has no interface for them. */
export function connectedPads(): Gamepad[] {
  const { getGamepads } = navigator as Partial<Navigator>;
  return (getGamepads?.call(navigator) ?? []).filter((pad) => pad !== null);
}
