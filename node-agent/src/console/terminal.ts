import { type DeviceFile, openDeviceFile } from '../input/device-file.ts';

/** Source: linux/kd.h, linux/vt.h; ioctl_console(2). */
const KDSETMODE = 0x4b3a;
const KDSKBMODE = 0x4b45;
const VT_SETMODE = 0x5602;
const KD_TEXT = 0;
const K_UNICODE = 3;
/** Bytes of struct vt_mode. All zero is VT_AUTO: the kernel switches terminals without asking a process. */
const VT_MODE_BYTES = 8;

/**
 * Restores text mode, keys and switching of a virtual terminal. A killed compositor leaves the terminal in graphics
 * mode, and then no other compositor can start on it. Errors are ignored.
 */
export function restoreTerminal(path: string, open: (path: string) => DeviceFile = openDeviceFile): void {
  let file: DeviceFile;
  try {
    file = open(path);
  } catch {
    return;
  }
  const calls: [request: number, argument: number | Buffer][] = [
    [KDSKBMODE, K_UNICODE],
    [KDSETMODE, KD_TEXT],
    [VT_SETMODE, Buffer.alloc(VT_MODE_BYTES)],
  ];
  for (const [request, argument] of calls) {
    try {
      file.ioctl(request, argument);
    } catch {
      // The remaining calls may still succeed.
    }
  }
  file.close();
}
