/**
 * Flag O_PATH of open(2): opens a path without any effect on a device, pipe or link. Node has no constant for this
 * flag; the value is that of x86 and ARM.
 */
export const O_PATH = 0o10000000;
