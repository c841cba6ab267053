import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isPublicAddress } from '../../platform/outgoing/public-address.ts';
import type { ArtworkPolicy } from '../fetch/steamgriddb.ts';
import { png } from './pictures.ts';

export const KEY = 'canary-0123456789abcdef0123456789abcdef';

/** A game of the fake provider; a missing crop has no picture. */
export interface FakeGame {
  id: number;
  name: string;
  steamId?: string;
  tile?: Buffer;
  hero?: Buffer;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A fake provider on loopback, whose pictures are on the same server. */
export interface FakeProvider {
  /** URL of the server; pictures have the same origin. */
  readonly origin: string;
  readonly games: FakeGame[];
  /** Answers for paths outside the API; they replace the built-in pictures. */
  readonly files: Map<string, Answer>;
  /** API calls (path and query) in order, with times (ms of the given clock). */
  readonly calls: { path: string; atMs: number }[];
  /** Requests of all paths, pictures included. */
  readonly requests: string[];
  /** While set, every API call gets this answer. */
  broken: Answer | null;
  /** Allows fetches to this server and to public servers. */
  readonly policy: ArtworkPolicy;
  close(): Promise<void>;
}

/** @param nowMs clock of `calls` */
export async function startFakeProvider(nowMs: () => number = () => 0): Promise<FakeProvider> {
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const provider: FakeProvider = {
    origin,
    games: [],
    files: new Map(),
    calls: [],
    requests: [],
    broken: null,
    policy: {
      isAllowed: (address) => address === '127.0.0.1' || isPublicAddress(address),
      lookup: () => {
        throw new Error('a test looked a name up');
      },
      providerUrl: `${origin}/api/v2`,
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  function handle(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', origin);
    provider.requests.push(url.pathname);
    // Ignore the error: many tests disconnect clients.
    response.on('error', () => undefined);
    if (!url.pathname.startsWith('/api/v2/')) {
      const answer = provider.files.get(url.pathname) ?? servePicture(url.pathname);
      if (answer) answer(request, response);
      else response.writeHead(404).end();
      return;
    }
    const path = url.pathname.slice('/api/v2'.length);
    provider.calls.push({ path: path + url.search, atMs: nowMs() });
    if (provider.broken) provider.broken(request, response);
    else if (request.headers.authorization !== `Bearer ${KEY}`) json(response, 401, { success: false });
    else answerCall(path, response);
  }

  function answerCall(path: string, response: ServerResponse): void {
    const [, area = '', kind = '', what = ''] = path.split('/').map(decodeURIComponent);
    const ofSteam = provider.games.find(({ steamId }) => steamId === what);
    const ofId = provider.games.find(({ id }) => String(id) === what);
    const game = kind === 'steam' ? ofSteam : ofId;
    if (area === 'search') {
      const words = what.toLowerCase().split(/\W+/);
      const hits = provider.games.filter(({ name }) => name.toLowerCase().includes(words[0] ?? ''));
      json(response, 200, { success: true, data: hits.map(titleOf) });
    } else if (!game) json(response, 404, { success: false, errors: ['Game not found'] });
    else if (area === 'games') json(response, 200, { success: true, data: titleOf(game) });
    else json(response, 200, { success: true, data: picturesOf(game, area === 'grids' ? 'tile' : 'hero') });
  }

  function servePicture(path: string): Answer | undefined {
    const [, id, crop] = /^\/pictures\/(\d+)\/(tile|hero|thumb)\.png$/.exec(path) ?? [];
    const game = provider.games.find((each) => String(each.id) === id);
    const bytes = crop === 'thumb' ? png(60, 90, Number(id)) : game?.[crop === 'hero' ? 'hero' : 'tile'];
    return bytes && file(bytes, 'image/png');
  }

  const titleOf = ({ id, name }: FakeGame) => ({ id, name, types: ['steam'], verified: true });
  const picturesOf = (game: FakeGame, crop: 'tile' | 'hero') =>
    game[crop] === undefined
      ? []
      : [
          {
            id: game.id * 10,
            score: 1,
            mime: 'image/png',
            url: `${origin}/pictures/${game.id}/${crop}.png`,
            thumb: `${origin}/pictures/${game.id}/thumb.png`,
          },
        ];
  return provider;
}

export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** @param type null: no Content-Type header is sent */
export const file =
  (bytes: Buffer, type: string | null): Answer =>
  (_request, response) => {
    response.writeHead(200, type === null ? {} : { 'content-type': type }).end(bytes);
  };

export const redirectTo =
  (location: string, status = 302): Answer =>
  (_request, response) => {
    response.writeHead(status, { location }).end();
  };
