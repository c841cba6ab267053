/**
 * Opens a name without reading or starting anything: no device, no pipe, no link is touched (open(2), O_PATH). Node does
 * not name it; the number is that of x86 and ARM.
 */
export const O_PATH = 0o10000000;
