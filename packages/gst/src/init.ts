import { native } from './native.ts';

let initialised = false;

/**
 * Initializes GStreamer once per process. Reads the plugin registry (at GST_REGISTRY, or by default below HOME). If
 * there is no registry, it scans all plugins, which takes seconds.
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
