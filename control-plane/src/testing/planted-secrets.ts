import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One answer, as text, with the request that it answered (method and path without ids and query). */
export interface RecordedAnswer {
  route: string;
  status: number;
  text: string;
}

interface Planted {
  what: string;
  value: string;
  /** Routes whose success may show it: those that hand it out. */
  givenOutBy: readonly string[];
}

/** Secrets that a test has put into the service, and the search for them in all that the service wrote. */
export class PlantedSecrets {
  readonly #planted: Planted[] = [];

  /** @param givenOutBy routes such as `POST /v1/auth/login` whose success shows the secret, that being their purpose */
  plant(what: string, value: unknown, givenOutBy: readonly string[] = []): string {
    if (typeof value !== 'string' || value.length < 12) throw new Error(`${what} is no secret to look for`);
    this.#planted.push({ what, value, givenOutBy });
    return value;
  }

  /** @returns a line for each secret and place that it was found in, in whatever form */
  foundIn(places: Readonly<Record<string, string>>): string[] {
    return Object.entries(places).flatMap(([place, text]) =>
      this.#planted
        .filter(({ value }) => formsOf(value).some((form) => text.includes(form)))
        .map(({ what }) => `${what} in ${place}`),
    );
  }

  /** @returns a line for each answer that shows a secret and is not there to hand it out */
  shownBy(answers: readonly RecordedAnswer[]): string[] {
    return answers.flatMap(({ route, status, text }) =>
      this.#planted
        .filter(({ givenOutBy }) => status >= 400 || !givenOutBy.includes(route))
        .filter(({ value }) => formsOf(value).some((form) => text.includes(form)))
        .map(({ what }) => `${what} in the answer ${status} to ${route}`),
    );
  }
}

/** What a careless writer could make of a value. */
function formsOf(value: string): string[] {
  const bytes = Buffer.from(value, 'utf8');
  return [
    value,
    bytes.toString('hex'),
    encodeURIComponent(value),
    // Base64 of more than the value alone: the middle does not depend on what stands before it, given its offset.
    ...[0, 1, 2].map((offset) => base64Core(bytes, offset)),
  ];
}

function base64Core(bytes: Buffer, offset: number): string {
  const core = bytes.subarray((3 - offset) % 3);
  return core.subarray(0, core.length - (core.length % 3)).toString('base64');
}

/** All bytes of all files below a folder whose path the filter lets pass, as Latin-1 text. */
export function bytesBelow(folder: string, keep: (path: string) => boolean = () => true): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(keep)
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n');
}

/** Command lines of all processes that can be seen. */
export function processArguments(): string {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        // It ended meanwhile.
        return '';
      }
    })
    .join('\n');
}
