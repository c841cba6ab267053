import { deviceKey, readUser } from '../api/auth-store.ts';
import { call } from '../api/client.ts';

/** Id of the person for whom this browser was last measured, and when. */
const STORED = 'footlight.probed';
/**
 * Shortest time between two measurements. Each post also updates the device's last use on the account page. A
 * measurement needs half a second and no network traffic.
 */
const AGAIN_AFTER_MS = 60 * 60 * 1000;
const HEIGHTS = [4320, 2160, 1440, 1080, 720];
const FRAMES = 24;

/**
 * Measures this browser and posts the result, at most once an hour for a person, so that the server can rate picture
 * qualities. If another account signs in, the browser is measured again for this account. Bandwidth and round trip are
 * omitted, because only a session measures the path to a host.
 */
export async function probeDevice(nowMs: number): Promise<void> {
  const personId = readUser()?.id ?? '';
  const [measuredFor, at] = (localStorage.getItem(STORED) ?? '').split(' ');
  const last = measuredFor === personId ? Number(at) : 0;
  if (nowMs - last < AGAIN_AFTER_MS && nowMs >= last) return;
  const [height, refreshHz] = await Promise.all([maxDecodeHeight(), measureRefreshHz()]);
  await call('devices.probe', {
    body: {
      device_key: deviceKey(),
      capabilities: {
        client_type: 'web',
        codecs: receivableCodecs(),
        display: {
          width: Math.round(screen.width * devicePixelRatio),
          height: Math.round(screen.height * devicePixelRatio),
          ...(refreshHz === null ? {} : { refresh_hz: refreshHz }),
        },
        ...(height === null ? {} : { max_decode_height: height }),
        ...browserOf(navigator.userAgent),
      },
    },
  });
  localStorage.setItem(STORED, `${personId} ${nowMs}`);
}

function receivableCodecs() {
  const mimes = new Set(
    RTCRtpReceiver.getCapabilities('video')?.codecs.map((codec) => codec.mimeType.toLowerCase()),
  );
  return { h264: mimes.has('video/h264'), hevc: mimes.has('video/h265'), av1: mimes.has('video/av1') };
}

/** Lines of the largest H.264 picture that plays smoothly at 60 frames a second; null: unknown. */
async function maxDecodeHeight(): Promise<number | null> {
  if (navigator.mediaCapabilities === undefined) return null;
  for (const height of HEIGHTS) {
    const info = await navigator.mediaCapabilities
      .decodingInfo({
        type: 'webrtc',
        video: {
          contentType: 'video/H264;level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e034',
          width: (height * 16) / 9,
          height,
          bitrate: 20_000_000,
          framerate: 60,
        },
      })
      .catch(() => null);
    if (info === null) return null;
    if (info.supported && info.smooth) return height;
  }
  return null;
}

/** Refresh rate of the display; null: the page is in the background. */
function measureRefreshHz(): Promise<number | null> {
  if (document.hidden) return Promise.resolve(null);
  return new Promise((resolve) => {
    const times: number[] = [];
    const step = (at: number) => {
      times.push(at);
      if (times.length <= FRAMES) requestAnimationFrame(step);
      else resolve(refreshHzOf(times));
    };
    requestAnimationFrame(step);
  });
}

/** Refresh rate from consecutive frame times; the median ignores outliers. @param times ms, ascending */
export function refreshHzOf(times: readonly number[]): number | null {
  const gaps = times.slice(1).map((at, index) => at - (times[index] ?? at));
  const median = gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)];
  return median === undefined || median <= 0 ? null : Math.round(1000 / median);
}

/** Readable names of browser and system from a user agent. */
export function browserOf(userAgent: string): {
  browser?: { name: string; version: string };
  platform?: string;
} {
  const browser = BROWSERS.map(([name, pattern]) => ({ name, version: pattern.exec(userAgent)?.[1] })).find(
    ({ version }) => version !== undefined,
  );
  const platform = PLATFORMS.find(([, pattern]) => pattern.test(userAgent))?.[0];
  return {
    ...(browser?.version === undefined ? {} : { browser: { name: browser.name, version: browser.version } }),
    ...(platform === undefined ? {} : { platform }),
  };
}

// In this order, because most user agents also contain the names of browsers further down in the list.
const BROWSERS: readonly [string, RegExp][] = [
  ['Edge', /Edg\/([\d.]+)/],
  ['Opera', /OPR\/([\d.]+)/],
  ['Firefox', /Firefox\/([\d.]+)/],
  ['Chrome', /Chrome\/([\d.]+)/],
  ['Safari', /Version\/([\d.]+).*Safari/],
];
const PLATFORMS: readonly [string, RegExp][] = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['Windows', /Windows/],
  ['macOS', /Macintosh/],
  ['ChromeOS', /CrOS/],
  ['Linux', /Linux/],
];
