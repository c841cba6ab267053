/**
 * The video element: which tracks it plays, and each frame it shows. One MediaStream stays for good and its tracks
 * are exchanged, so the last picture stands until the next connection's first one.
 */

export interface ShownFrame {
  mediaTime: number;
  /** monotonic ms at which it is expected on the screen */
  displayMs: number;
  captureToDisplayMs: number | null;
  /** null where the browser does not say */
  rtpTimestamp: number | null;
  width: number;
  height: number;
}

export class Picture {
  #video: HTMLVideoElement;
  #stream = new MediaStream();
  #onFrame: (frame: ShownFrame) => void;
  #callback: number | null = null;
  #disposed = false;

  constructor(video: HTMLVideoElement, onFrame: (frame: ShownFrame) => void) {
    this.#video = video;
    this.#onFrame = onFrame;
    video.playsInline = true;
    video.autoplay = true;
    // Browsers start nothing with sound before the person did something.
    video.muted = true;
    video.srcObject = this.#stream;
    this.#watch();
  }

  /** Whether this browser tells of each frame; otherwise only the decoder's counters do. */
  get tellsFrames(): boolean {
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
   * Whether the whole picture has one colour: something runs, and shows nothing yet.
   * @returns null where the picture cannot be read
   */
  isFlat(): boolean | null {
    const size = 32;
    const canvas = document.createElement('canvas');
    canvas.width = size;
    canvas.height = size;
    const context = canvas.getContext('2d', { willReadFrequently: true });
    if (context === null) return null;
    try {
      context.drawImage(this.#video, 0, 0, size, size);
      const { data } = context.getImageData(0, 0, size, size);
      const near = (index: number) => Math.abs((data[index] ?? 0) - (data[index % 4] ?? 0)) <= 4;
      return data.every((_, index) => near(index));
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
    if (!this.tellsFrames) return;
    const next = () => {
      this.#callback = this.#video.requestVideoFrameCallback((_now, metadata) => {
        if (this.#disposed) return;
        next();
        const captured = metadata.captureTime;
        this.#onFrame({
          mediaTime: metadata.mediaTime,
          displayMs: metadata.expectedDisplayTime,
          captureToDisplayMs: captured === undefined ? null : metadata.expectedDisplayTime - captured,
          rtpTimestamp: metadata.rtpTimestamp ?? null,
          width: metadata.width,
          height: metadata.height,
        });
      });
    };
    next();
  }
}
