/** Gamepads that the page may read. Empty on a page without TLS, where Firefox does not support gamepads. */
export function connectedPads(): Gamepad[] {
  const { getGamepads } = navigator as Partial<Navigator>;
  return (getGamepads?.call(navigator) ?? []).filter((pad) => pad !== null);
}
