import { constants } from 'node:os';
import { getSystemErrorMap } from 'node:util';

const [, text = ''] = getSystemErrorMap().get(-constants.errno.ENOSYS) ?? [];

/**
 * The C library's text for ENOSYS. The seccomp filter answers a blocked system call like a kernel without this call.
 */
export const BLOCKED = text.charAt(0).toUpperCase() + text.slice(1);
