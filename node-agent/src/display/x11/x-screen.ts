import type { RandrResources, XRandr } from 'x11';
import type { XConnection } from './x-connection.ts';

export interface ScreenSize {
  width: number;
  height: number;
}

const ROTATE_0 = 1;
const CURRENT_TIME = 0;
const REPLACE = 0;
const BITS_PER_CHARACTER = 8;
const BASE_DPI = 96;
const MM_PER_INCH = 25.4;
/** Refresh rate in the name of a mode. A virtual screen has no real refresh rate. */
const NAMED_HZ = 60;

/**
 * Changes the size of a virtual screen while apps draw. Sizes are pixels.
 *
 * Xvfb has one output and accepts any size up to its initial one. A screen must not be smaller than its output's
 * picture, so the output is off during the change. The caller must run only one change at a time. There is no close(),
 * because the modes are freed with the display. Source: X RandR protocol 1.5, RRSetScreenSize, RRCreateMode,
 * RRSetCrtcConfig.
 */
export class XScreenSize {
  readonly #x: XConnection;
  readonly #randr: XRandr;

  private constructor(x: XConnection, randr: XRandr) {
    this.#x = x;
    this.#randr = randr;
  }

  /** @throws when the display has no RandR */
  static async open(x: XConnection): Promise<XScreenSize> {
    return new XScreenSize(x, await x.request<XRandr>((callback) => x.client.require('randr', callback)));
  }

  async size(): Promise<ScreenSize> {
    const { width, height } = await this.#x.request<ScreenSize>((callback) =>
      this.#x.client.GetGeometry(this.#x.root, callback),
    );
    return { width, height };
  }

  /** @throws when the screen refuses the size; the screen may then show no picture until the next successful resize */
  async resize({ width, height }: ScreenSize): Promise<void> {
    const before = await this.#resources();
    await this.#configure(before, 0);
    const [mmWidth, mmHeight] = [width, height].map((pixels) =>
      Math.max(1, Math.round((pixels * MM_PER_INCH) / BASE_DPI)),
    ) as [number, number];
    this.#randr.SetScreenSize(this.#x.root, width, height, mmWidth, mmHeight);
    const mode = await this.#mode(before, { width, height });
    await this.#configure(await this.#resources(), mode);
    const size = await this.size();
    if (size.width !== width || size.height !== height)
      throw new Error(`the display stayed at ${size.width}×${size.height}`);
  }

  /** Sets the size of text and controls of apps that start later. @param scale 1: 96 dpi */
  async setScale(scale: number): Promise<void> {
    const [property, text] = await Promise.all([this.#x.atom('RESOURCE_MANAGER'), this.#x.atom('STRING')]);
    const resources = `Xft.dpi:\t${Math.round(scale * BASE_DPI)}\n`;
    this.#x.client.ChangeProperty(
      REPLACE,
      this.#x.root,
      property,
      text,
      BITS_PER_CHARACTER,
      Buffer.from(resources),
    );
    await this.#x.settle();
  }

  #resources(): Promise<RandrResources> {
    return this.#x.request((callback) => this.#randr.GetScreenResources(this.#x.root, callback));
  }

  /** Shows a mode on the only output, or switches the output off. @param mode id of the mode; 0: off */
  async #configure(resources: RandrResources, mode: number): Promise<void> {
    const [crtc] = resources.crtcs;
    const [output] = resources.outputs;
    if (crtc === undefined || output === undefined) throw new Error('the display has no output');
    const { status } = await this.#x.request<{ status: number }>((callback) =>
      this.#randr.SetCrtcConfig(
        crtc,
        CURRENT_TIME,
        resources.config_timestamp,
        0,
        0,
        mode,
        ROTATE_0,
        mode === 0 ? [] : [output],
        callback,
      ),
    );
    if (status !== 0) throw new Error(`the display refused the size (${status})`);
  }

  async #mode({ modeinfos, outputs }: RandrResources, { width, height }: ScreenSize): Promise<number> {
    const known = modeinfos.find((mode) => mode.width === width && mode.height === height);
    if (known) return known.id;
    const made = await this.#x.request<number>((callback) =>
      this.#randr.CreateMode(
        this.#x.root,
        {
          width,
          height,
          dot_clock: width * height * NAMED_HZ,
          h_sync_start: width,
          h_sync_end: width,
          h_total: width,
          v_sync_start: height,
          v_sync_end: height,
          v_total: height,
          name: `${width}x${height}`,
        },
        callback,
      ),
    );
    for (const output of outputs) this.#randr.AddOutputMode(output, made);
    return made;
  }
}
