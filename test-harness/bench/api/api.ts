/**
 * api: a signed-in page of GET /v1/apps from an instance with 10,000 users, 2,000 apps and 200,000 entitlements,
 * compared with a bare route that sends the same bytes.
 * - cached: the same people request their lists repeatedly, and no request writes.
 * - first: each request comes right after a write that evicts every cached list. One connection sends the requests, and
 *   only the list is timed.
 * - herd: after one write many people request their lists at the same time, each for the first time since the write.
 *
 * Measured with pages of 50, the default size, and of 500. The mark of cached lists applies to pages of 500: with 50
 * apps the fixed cost of each request (token, headers, hooks) weighs more.
 */
import { deepStrictEqual } from 'node:assert';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fetch } from 'undici';
import {
  alternate,
  exitStatus,
  judge,
  median,
  printLine,
  printVerdict,
  type Round,
  round2,
} from '../rounds.ts';
import { type Dialect, type LargeCatalog, type LargeInstance, startLargeInstance } from './large-instance.ts';
import { CORES, cpuMs, type Load, type LoadRequestLine, startLoad, startWorker } from './load.ts';

const PAGES = [50, 500] as const;
const FIGURES = ['cached', 'first', 'herd'] as const;
type Figure = (typeof FIGURES)[number];
const FIRST_MARK = 0.15;
/**
 * Answers per second: minimum ratio of the subject's figure to the reference's figure; null: the figure is printed but
 * not judged. On Postgres the database's processes use both cores, so cached lists are judged on SQLite.
 */
function markOf(dialect: Dialect, page: (typeof PAGES)[number], figure: Figure): number | null {
  if (figure !== 'cached') return FIRST_MARK;
  return dialect === 'sqlite' && page === 500 ? 0.5 : null;
}

const CACHED_SECONDS = 2;
const CONNECTIONS = 64;
// The bare route answers within 0.2 ms. This many requests take tenths of a second, which can be timed.
const FIRST_WRITES = 600;
const HERD_EACH = 3;
const HERD_WRITES = 24;
const USERS = CONNECTIONS * HERD_EACH;

/** @returns exit status: the worst of all figures */
export async function benchApi(rounds: number, dialects: readonly Dialect[]): Promise<number> {
  const load = startLoad();
  let status = 0;
  try {
    for (const dialect of dialects) {
      const instance = await startLargeInstance(dialect, USERS + 1);
      try {
        status = Math.max(status, await benchInstance(rounds, dialect, instance, load));
      } finally {
        await instance.stop();
      }
    }
    return status;
  } finally {
    await load.stop();
  }
}

async function benchInstance(
  rounds: number,
  dialect: Dialect,
  instance: LargeInstance,
  load: Load,
): Promise<number> {
  const people = instance.catalog.users.slice(1, USERS + 1);
  const admin = instance.catalog.users[0]?.token ?? '';
  const files = await keepBodies(instance, people);
  const bare = startWorker(CORES.server, 'test-harness/bench/api/bare-list-main.ts', files.flat());
  try {
    const bareUrl = await bare.line();
    const sides = {
      subject: {
        url: instance.url,
        pid: instance.pid,
        list: (person: number, page: number): LoadRequestLine => ({
          path: `/v1/apps?limit=${PAGES[page]}`,
          token: people[person]?.token ?? '',
          expectFile: files[person]?.[page] ?? '',
        }),
        write: (n: number): LoadRequestLine => ({
          method: 'PATCH',
          path: `/v1/apps/${instance.catalog.apps[0]?.id}`,
          token: admin,
          // No list shows this field, so the expected bodies stay equal byte for byte.
          body: JSON.stringify({ default_vram_mb: 1024 + (n % 2) }),
        }),
      },
      reference: {
        url: bareUrl,
        pid: bare.pid,
        list: (person: number, page: number): LoadRequestLine => ({
          path: `/${person * PAGES.length + page}`,
          expectFile: files[person]?.[page] ?? '',
        }),
        write: (): LoadRequestLine => ({ path: '/health' }),
      },
    };
    type Side = keyof typeof sides;
    const cpu = { reference: PAGES.map((): number[] => []), subject: PAGES.map((): number[] => []) };
    /** Answers per second, by figure. */
    const measure: Record<Figure, (side: Side, page: number) => Promise<number>> = {
      cached: async (side, page) => {
        const { url, pid, list } = sides[side];
        const before = cpuMs(pid);
        const each = Array.from({ length: CONNECTIONS }, (_, person) => [list(person, page)]);
        const { requests, seconds } = await load.run({
          url,
          connections: each,
          seconds: CACHED_SECONDS,
          repeat: 1,
        });
        cpu[side][page]?.push((1000 * (cpuMs(pid) - before)) / requests);
        return requests / seconds;
      },
      first: async (side, page) => {
        const { url, list, write } = sides[side];
        const pairs = [0, 1].flatMap((n) => [write(n), list(n, page)]);
        const { times } = await load.run({
          url,
          connections: [pairs],
          seconds: null,
          repeat: FIRST_WRITES / 2,
        });
        const lists = times.filter((_, n) => n % 2 === 1);
        return 1000 / (lists.reduce((sum, time) => sum + time, 0) / lists.length);
      },
      herd: async (side, page) => {
        const { url, list, write } = sides[side];
        const crowd = Array.from({ length: CONNECTIONS }, (_, n) =>
          Array.from({ length: HERD_EACH }, (_, m) => list(n * HERD_EACH + m, page)),
        );
        let answered = 0;
        let seconds = 0;
        for (let n = 0; n < HERD_WRITES; n++) {
          await load.run({ url, connections: [[write(n)]], seconds: null, repeat: 1 });
          const herd = await load.run({ url, connections: crowd, seconds: null, repeat: 1 });
          answered += herd.requests;
          seconds += herd.seconds;
        }
        return answered / seconds;
      },
    };
    let status = 0;
    for (const [page, size] of PAGES.entries()) {
      for (const figure of FIGURES) {
        const name = `api ${dialect} ${size} ${figure}`;
        // The figures are measured one by one, and both sides alternate, so that a few seconds of noise affect both
        // sides.
        const [kept = []] = await alternate(
          rounds,
          {
            reference: async () => [await measure[figure]('reference', page)],
            subject: async () => [await measure[figure]('subject', page)],
          },
          [name],
        );
        status = Math.max(status, report({ name, mark: markOf(dialect, size, figure) }, kept));
      }
      printLine({
        bench: `api ${dialect} ${size} cached`,
        cpuMicrosecondsEach: {
          reference: round2(median(cpu.reference[page]?.slice(1) ?? [])),
          subject: round2(median(cpu.subject[page]?.slice(1) ?? [])),
        },
      });
    }
    return status;
  } finally {
    await bare.stop();
  }
}

function report({ name, mark }: { name: string; mark: number | null }, rounds: readonly Round[]): number {
  const judgement = judge(name, rounds, (ratio) => mark === null || ratio >= mark, 'answers a second');
  printVerdict(mark === null ? { ...judgement, verdict: 'not judged' } : { ...judgement, mark });
  return mark === null ? 0 : exitStatus(judgement.verdict);
}

/**
 * Requests every user's pages once, compares them with the rows, and stores their bytes.
 * @returns files by user and page
 */
async function keepBodies(instance: LargeInstance, people: LargeCatalog['users']): Promise<string[][]> {
  const files: string[][] = [];
  for (const [index, person] of people.entries()) {
    const row: string[] = [];
    for (const size of PAGES) {
      const answer = await fetch(`${instance.url}/v1/apps?limit=${size}`, {
        headers: { authorization: `Bearer ${person.token}`, 'accept-encoding': 'identity' },
      });
      const text = await answer.text();
      deepStrictEqual(JSON.parse(text), expectedPage(instance.catalog, person, size));
      const file = path.join(instance.directory, `body-${index}-${size}.json`);
      writeFileSync(file, text);
      row.push(file);
    }
    files.push(row);
  }
  return files;
}

/** Expected first page, derived from the inserted rows. */
function expectedPage(catalog: LargeCatalog, person: LargeCatalog['users'][number], size: number): object {
  const items = person.apps.slice(0, size).map((position) => {
    const app = catalog.apps[position];
    return {
      id: app.id,
      name: app.name,
      description: app.description,
      cover_url: app.cover_url,
      hero_url: app.hero_url,
      kind: app.kind,
      parent_app_id: app.parent_app_id,
      external_source: app.external_source,
      external_id: app.external_id,
      favourite: person.favourites.includes(position),
      default_width: app.default_width,
      default_height: app.default_height,
      default_fps: app.default_fps,
      default_bitrate_kbps: app.default_bitrate_kbps,
      default_profile_id: app.default_profile_id,
      profile_policy: app.profile_policy,
      display_stream: {
        width: app.default_width,
        height: app.default_height,
        fps: app.default_fps,
        bitrate_kbps: app.default_bitrate_kbps,
      },
      enabled: true,
    };
  });
  return { items, next_cursor: person.apps.length > size ? String(size) : null };
}
