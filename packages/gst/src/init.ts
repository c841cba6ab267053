import { native } from './native.ts';

let initialised = false;

/**
 * Initialises GStreamer once a process; later calls do nothing. Reads the plugin registry (GST_REGISTRY, else
 * below HOME), and scans all plugins when there is none, which takes seconds.
 * @throws when libgstreamer-1.0 is missing
 */
export function initialise(): void {
  if (initialised) return;
  native().gst_init(null, null);
  initialised = true;
}

/** Version of the library in use, such as "1.22.0". */
export function version(): string {
  const parts: [number[], number[], number[], number[]] = [[0], [0], [0], [0]];
  native().gst_version(...parts);
  return parts
    .slice(0, 3)
    .map((part) => part[0])
    .join('.');
}
