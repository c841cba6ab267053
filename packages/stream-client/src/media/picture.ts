import { DisplayTime } from './display-time.ts';

export interface ShownFrame {
  mediaTime: number;
  /** monotonic ms at which the frame reaches the screen, see DisplayTime */
  displayMs: number;
  captureToDisplayMs: number | null;
  /** monotonic ms at which the frame's last packet arrived; null: the browser does not report it */
  receivedMs: number | null;
  /** ms in the decoder; null: the browser does not report it */
  decodeMs: number | null;
  /** null: the browser does not report the RTP timestamp */
  rtpTimestamp: number | null;
  width: number;
  height: number;
}

/**
 * The video element: its tracks, and each shown frame. Keeps one MediaStream and replaces its tracks, so the last
 * picture stays until the first picture of the next connection.
 *
 * Runs from its construction. Owns the stream and the requested frame callback; tracks belong to their connection.
 * dispose() cancels the callback, empties the stream and removes it from the element.
 */
export class Picture {
  #video: HTMLVideoElement;
  #stream = new MediaStream();
  #onFrame: (frame: ShownFrame) => void;
  readonly #display = new DisplayTime();
  #callback: number | null = null;
  #disposed = false;

  constructor(video: HTMLVideoElement, onFrame: (frame: ShownFrame) => void) {
    this.#video = video;
    this.#onFrame = onFrame;
    video.playsInline = true;
    video.autoplay = true;
    // Browsers start playback with sound only after a user gesture.
    video.muted = true;
    video.srcObject = this.#stream;
    this.#watch();
  }

  /** Whether this browser reports each frame; otherwise only the decoder's counters are known. */
  get reportsFrames(): boolean {
    return typeof this.#video.requestVideoFrameCallback === 'function';
  }

  show(tracks: readonly MediaStreamTrack[]): void {
    const wanted = new Set(tracks);
    for (const track of this.#stream.getTracks()) if (!wanted.has(track)) this.#stream.removeTrack(track);
    for (const track of tracks) this.#stream.addTrack(track);
    void this.play();
  }

  get hasAudio(): boolean {
    return this.#stream.getAudioTracks().length > 0;
  }

  async play(): Promise<boolean> {
    try {
      await this.#video.play();
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Whether the whole picture has only one colour, so that the app has probably drawn nothing yet. Reads the decoded
   * planes directly, because a canvas would convert the picture to RGB, which costs 25 ms of the main thread at 720p
   * during the launch.
   * @returns null when the picture cannot be read
   */
  async isFlat(): Promise<boolean | null> {
    if (typeof VideoFrame === 'undefined') return null;
    // The statistics may count a decoded frame before the element contains it.
    if (this.#video.readyState < HTMLMediaElement.HAVE_CURRENT_DATA)
      await new Promise((resolve) => this.#video.addEventListener('loadeddata', resolve, { once: true }));
    try {
      const frame = new VideoFrame(this.#video);
      try {
        const bytes = new Uint8Array(frame.allocationSize());
        const planes = await frame.copyTo(bytes);
        return planes.every(({ offset }, index) =>
          isNearlyConstant(bytes.subarray(offset, planes[index + 1]?.offset)),
        );
      } finally {
        frame.close();
      }
    } catch {
      return null;
    }
  }

  dispose(): void {
    this.#disposed = true;
    if (this.#callback !== null) this.#video.cancelVideoFrameCallback?.(this.#callback);
    for (const track of this.#stream.getTracks()) this.#stream.removeTrack(track);
    if (this.#video.srcObject === this.#stream) this.#video.srcObject = null;
  }

  #watch(): void {
    if (!this.reportsFrames) return;
    const next = () => {
      this.#callback = this.#video.requestVideoFrameCallback((_now, metadata) => {
        if (this.#disposed) return;
        next();
        const captured = metadata.captureTime;
        const displayMs = this.#display.of(metadata.presentationTime, metadata.expectedDisplayTime);
        this.#onFrame({
          mediaTime: metadata.mediaTime,
          displayMs,
          captureToDisplayMs: captured === undefined ? null : displayMs - captured,
          receivedMs: metadata.receiveTime ?? null,
          decodeMs: metadata.processingDuration === undefined ? null : metadata.processingDuration * 1000,
          rtpTimestamp: metadata.rtpTimestamp ?? null,
          width: metadata.width,
          height: metadata.height,
        });
      });
    };
    next();
  }
}

/** Distance between samples in a plane, bytes; a prime number, so that the samples cover all columns. */
const SAMPLE_STEP = 251;
/** Largest deviation in a flat area after lossy coding, out of 256. */
const FLAT_TOLERANCE = 4;

/** Whether all samples of a plane are close to the first samples. A plane can interleave up to four components. */
function isNearlyConstant(plane: Uint8Array): boolean {
  for (let index = 0; index < plane.length; index += SAMPLE_STEP) {
    if (Math.abs((plane[index] ?? 0) - (plane[index % 4] ?? 0)) > FLAT_TOLERANCE) return false;
  }
  return true;
}
