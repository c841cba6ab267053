import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Response as text, with method and path of its request; ids and query are removed. */
export interface RecordedAnswer {
  route: string;
  status: number;
  text: string;
}

interface Planted {
  what: string;
  value: string;
  /** Routes whose success response may contain the secret. */
  givenOutBy: readonly string[];
}

/** Secrets that a test has stored in the service, and functions that search for them in all output of the service. */
export class PlantedSecrets {
  readonly #planted: Planted[] = [];

  /** @param givenOutBy routes such as `POST /v1/auth/login` whose success response contains the secret by design */
  plant(what: string, value: unknown, givenOutBy: readonly string[] = []): string {
    if (typeof value !== 'string' || value.length < 12) throw new Error(`${what} is no secret to look for`);
    this.#planted.push({ what, value, givenOutBy });
    return value;
  }

  /** @returns a line for each secret and place that contains the secret in any encoding */
  foundIn(places: Readonly<Record<string, string>>): string[] {
    return Object.entries(places).flatMap(([place, text]) =>
      this.#planted
        .filter(({ value }) => formsOf(value).some((form) => text.includes(form)))
        .map(({ what }) => `${what} in ${place}`),
    );
  }

  /** @returns a line for each response that contains a secret and is not permitted to */
  shownBy(answers: readonly RecordedAnswer[]): string[] {
    return answers.flatMap(({ route, status, text }) =>
      this.#planted
        .filter(({ givenOutBy }) => status >= 400 || !givenOutBy.includes(route))
        .filter(({ value }) => formsOf(value).some((form) => text.includes(form)))
        .map(({ what }) => `${what} in the answer ${status} to ${route}`),
    );
  }
}

/** Encodings of a value that a log or a response could contain. */
function formsOf(value: string): string[] {
  const bytes = Buffer.from(value, 'utf8');
  return [
    value,
    bytes.toString('hex'),
    encodeURIComponent(value),
    // Base64 of a longer text that contains the value: the middle of the encoded value depends only on the offset, not
    // on the preceding bytes.
    ...[0, 1, 2].map((offset) => base64Core(bytes, offset)),
  ];
}

function base64Core(bytes: Buffer, offset: number): string {
  const core = bytes.subarray((3 - offset) % 3);
  return core.subarray(0, core.length - (core.length % 3)).toString('base64');
}

/** All bytes of all files below a folder as Latin-1 text. The filter selects the paths. */
export function bytesBelow(folder: string, keep: (path: string) => boolean = () => true): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(keep)
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n');
}

/** Command lines of all visible processes. */
export function processArguments(): string {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        // The process has ended in the meantime.
        return '';
      }
    })
    .join('\n');
}
