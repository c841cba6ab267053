import type { DeviceFile } from '../device-file.ts';
import { decodeEvents, type InputEvent, SYSNAME_BYTES, UI } from '../uinput-layout.ts';

/** A fake kernel side of /dev/uinput: records calls and answers as the test configures. */
export class FakeDeviceFile implements DeviceFile {
  readonly calls: { request: number; argument: number | Buffer }[] = [];
  /** Events of each write, without the final SYN_REPORT. */
  readonly reports: InputEvent[][] = [];
  /** Results of read(), oldest first. */
  readonly toRead: Buffer[] = [];
  /** Functions that fill the buffer of an ioctl that reads. */
  answers = new Map<number, (argument: Buffer) => void>();
  /** Requests that this fake refuses. */
  refused = new Set<number>();
  closed = false;

  constructor(sysname = 'input7') {
    this.answers.set(UI.getSysname, (argument) => argument.write(`${sysname}\0`.slice(0, SYSNAME_BYTES)));
  }

  ioctl(request: number, argument: number | Buffer): void {
    if (this.refused.has(request)) throw new Error('refused');
    // A copy, because the caller may reuse the buffer.
    this.calls.push({ request, argument: typeof argument === 'number' ? argument : Buffer.from(argument) });
    if (typeof argument !== 'number') this.answers.get(request)?.(argument);
  }

  write(bytes: Buffer): void {
    this.reports.push(decodeEvents(bytes).slice(0, -1));
  }

  read(): Buffer | null {
    return this.toRead.shift() ?? null;
  }

  close(): void {
    this.closed = true;
  }

  argumentsOf(request: number): (number | Buffer)[] {
    return this.calls.filter((call) => call.request === request).map(({ argument }) => argument);
  }

  get isConnected(): boolean {
    const last = this.calls.findLast(({ request }) => request === UI.devCreate || request === UI.devDestroy);
    return last?.request === UI.devCreate;
  }
}
