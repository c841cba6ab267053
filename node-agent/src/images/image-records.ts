import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const recordSchema = z.object({
  image_id: z.string().max(128),
  version: z.string().max(128),
  /** Reference of the image in the engine: `name@sha256:…`, or `service-local/…`. */
  ref: z.string().max(512),
  state: z.enum(['pending', 'ready', 'failed']),
});
/**
 * A catalog image that the control plane ordered this host to store. There is one record per image id, for the newest
 * version.
 */
export type ImageRecord = z.infer<typeof recordSchema>;

/** Largest number of `images` in register (protocol/src/agent). */
export const MAX_RECORDS = 256;
const fileSchema = z.array(recordSchema).max(MAX_RECORDS);

/**
 * The images of this host in a file of the state directory, so that a restarted agent can report their versions.
 * Whether an image still exists is checked with the engine.
 */
export class ImageRecords {
  readonly #file: string;
  readonly #records: Map<string, ImageRecord>;
  #saving: Promise<void> = Promise.resolve();

  private constructor(file: string, records: readonly ImageRecord[]) {
    this.#file = file;
    this.#records = new Map(records.map((record) => [record.image_id, record]));
  }

  /** A missing or malformed file counts as empty, because the control plane sends the commands for its images again. */
  static async open(stateDir: string): Promise<ImageRecords> {
    const file = join(stateDir, 'images.json');
    const parsed = fileSchema.safeParse(
      await readFile(file, 'utf8')
        .then((text): unknown => JSON.parse(text))
        .catch(() => null),
    );
    return new ImageRecords(file, parsed.success ? parsed.data : []);
  }

  get(imageId: string): ImageRecord | undefined {
    return this.#records.get(imageId);
  }

  all(): ImageRecord[] {
    return [...this.#records.values()];
  }

  /** @returns false: MAX_RECORDS is reached */
  put(record: ImageRecord): boolean {
    if (!this.#records.has(record.image_id) && this.#records.size >= MAX_RECORDS) return false;
    this.#records.set(record.image_id, record);
    this.#save();
    return true;
  }

  delete(imageId: string): void {
    if (this.#records.delete(imageId)) this.#save();
  }

  /** Settles when all changes are written to the disk, or the write failed. */
  get saved(): Promise<void> {
    return this.#saving;
  }

  #save(): void {
    const text = JSON.stringify(this.all());
    this.#saving = this.#saving.then(async () => {
      try {
        await writeFile(`${this.#file}.new`, text, { mode: 0o600 });
        await rename(`${this.#file}.new`, this.#file);
      } catch {
        // The write failed, for example because the disk is full. The control plane sends the images again after a
        // restart.
      }
    });
  }
}
