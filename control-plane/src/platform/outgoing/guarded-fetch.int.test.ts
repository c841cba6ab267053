import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../testing/index.ts';
import { createFetcher, type FetchPolicy, FetchRefused, PUBLIC_INTERNET } from './guarded-fetch.ts';

const CAP = 256 * 1024;
/** Body of the answers of all servers in this file. */
const CONTENT = Buffer.from('some bytes');
/** Acts as a public server in these tests; the fetcher must not connect to any other loopback address. */
const PUBLIC = '127.0.0.1';
const INNER = '127.0.0.2';

let port: number;
let publicServer: Server;
let innerServer: Server;
/** Requests that reached the server on the private address. */
let innerHits: string[];
/** Host names of these tests with the results of their look-ups, in order; the last result is repeated. */
let names: Map<string, string[][]>;
let answer: RequestListener;
let clock: ManualClock;

/** A resolver that can give different results for the same name. */
const lookup: LookupFunction = (hostname, _options, done) => {
  const answers = names.get(hostname) ?? [];
  const addresses = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
  if (addresses.length === 0) return done(new Error('ENOTFOUND'), []);
  done(
    null,
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  );
};
const policy: FetchPolicy = { ...PUBLIC_INTERNET, isAllowed: (address) => address === PUBLIC, lookup };
const stopping = new AbortController();

const fetcherWith = (used: FetchPolicy) => createFetcher({ clock, policy: used, stopping: stopping.signal });
const fetchWith = (address: string, used = policy) => fetcherWith(used).get(address, { maxBytes: CAP });
const url = (path = '/', host = PUBLIC) => `http://${host}:${port}${path}`;

beforeAll(async () => {
  publicServer = createServer((request, response) => {
    response.on('error', () => undefined);
    answer(request, response);
  });
  await new Promise<void>((resolve) => publicServer.listen(0, PUBLIC, resolve));
  port = (publicServer.address() as AddressInfo).port;
  innerServer = createServer((request, response) => {
    innerHits.push(request.url ?? '');
    response.writeHead(200, { 'content-type': 'image/png' }).end(CONTENT);
  });
  await new Promise<void>((resolve) => innerServer.listen(port, INNER, resolve));
});
afterAll(async () => {
  for (const server of [publicServer, innerServer]) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
beforeEach(() => {
  clock = new ManualClock();
  names = new Map();
  innerHits = [];
  answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png' }).end(CONTENT);
  };
});
afterEach(() => expect(innerHits).toEqual([]));

describe('an address that leads inside is refused, however it is spelled', () => {
  /** Loopback, private and reserved hosts; each one is used with the port of the servers in this file. */
  const SPELLINGS = [
    ...['127.0.0.1', '127.0.0.2', '127.1', '127.0.1', '127.0.0.1.', '0', '0.0.0.0', '0x0', '00'],
    ...['2130706433', '2130706434', '0x7f000001', '0x7F000002', '0x7f.0.0.1', '0x7f.1', '0177.0.0.1'],
    ...['0177.1', '017700000001', '017700000002', '127.0x0.0.01', '0x7f.0x0.0x0.0x2', '0300.0250.1'],
    ...['１２７.0.0.1', '127。0。0。1', '127%2e0%2e0%2e1', '%31%32%37.0.0.1', '①②⑦.0.0.1'],
    ...['[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::FFFF:7f00:2]', '[::ffff:0:7f00:1]'],
    ...['[::127.0.0.1]', '[64:ff9b::127.0.0.1]', '[64:ff9b::a9fe:a9fe]', '[64:ff9b:1::7f00:1]'],
    ...['[2002:7f00:1::]', '[2002:a00:1::1]', '[2001::1]', '[2001:db8::1]', '[fe80::1]', '[fec0::1]'],
    ...['[fc00::1]', '[fd12:3456::1]', '[ff02::1]', '[100::1]', '[3fff::1]'],
    ...['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.1', '169.254.169.254', '0xA9FEA9FE'],
    ...['2852039166', '100.64.0.1', '192.0.0.1', '192.0.2.1', '192.88.99.1', '198.18.0.1', '198.51.100.1'],
    ...['203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255', 'user:pass@127.0.0.1'],
  ];
  const NAMES: Record<string, string[]> = {
    localhost: ['127.0.0.1'],
    'inner.example': ['127.0.0.2'],
    'six.example': ['::1'],
    'mapped.example': ['::ffff:127.0.0.1'],
    'nat64.example': ['64:ff9b::7f00:1'],
    'both.example': ['93.184.215.14', '127.0.0.1'],
    'metadata.example': ['169.254.169.254'],
    'nowhere.example': [],
  };

  test('counts at least 60 of them', () => {
    expect(new Set(SPELLINGS).size).toBeGreaterThanOrEqual(60);
  });

  test.each([...SPELLINGS, ...Object.keys(NAMES)])('%s', async (host) => {
    for (const [name, addresses] of Object.entries(NAMES)) names.set(name, [addresses]);
    const hits: string[] = [];
    answer = (request, response) => {
      hits.push(request.url ?? '');
      response.end();
    };
    await expect(fetchWith(`http://${host}:${port}/`, { ...PUBLIC_INTERNET, lookup })).rejects.toThrow(
      host === 'nowhere.example' ? 'leads to no address' : 'does not lead to a public address',
    );
    expect(hits).toEqual([]);
  });
});

describe('an address of the operator', () => {
  const reaching = (host: string, reach: 'loopback' | 'any' | 'public') =>
    fetcherWith(PUBLIC_INTERNET).get(url('/', host), { maxBytes: CAP, reach });

  test('may lie in an inner network where the caller says so, and nowhere else', async () => {
    expect((await reaching(PUBLIC, 'any')).status).toBe(200);
    expect((await reaching(PUBLIC, 'loopback')).status).toBe(200);
    await expect(reaching(PUBLIC, 'public')).rejects.toThrow('public address');
  });

  test('of loopback is no other one', async () => {
    const used: FetchPolicy = { ...PUBLIC_INTERNET, lookup };
    names.set('outer.example', [['93.184.215.14']]);
    names.set('mixed.example', [[PUBLIC, '10.0.0.1']]);
    for (const host of ['outer.example', 'mixed.example'])
      await expect(
        fetcherWith(used).get(url('/', host), { maxBytes: CAP, reach: 'loopback' }),
      ).rejects.toThrow('it does not lead to this machine');
  });
});

test('an answer has its headers, in any case', async () => {
  answer = (_request, response) => {
    response.writeHead(200, { 'Docker-Content-Digest': 'sha256:00' }).end(CONTENT);
  };
  const { header } = await fetchWith(url());
  expect([header('docker-content-digest'), header('Docker-Content-Digest'), header('etag')]).toEqual([
    'sha256:00',
    'sha256:00',
    '',
  ]);
});

test.each([
  '',
  'tile.png',
  '/v1/artwork/x',
  'file:///etc/passwd',
  'ftp://a.example/',
  'data:image/png,x',
  'http://',
])('refuses %j, which is no http or https address', async (address) => {
  await expect(fetchWith(address)).rejects.toThrow('it is no http or https address');
});

describe('a name', () => {
  test('is dialled at the address that was judged, even if it would answer otherwise the next time', async () => {
    names.set('flip.example', [[PUBLIC], [INNER]]);
    const fetched = await fetchWith(url('/', 'flip.example'));
    expect(fetched.bytes.equals(CONTENT)).toBe(true);
  });

  test('is judged again on each redirect, also when it is the same one', async () => {
    names.set('flip.example', [[PUBLIC], [INNER]]);
    answer = (_request, response) => {
      response.writeHead(302, { location: '/again' }).end();
    };
    await expect(fetchWith(url('/', 'flip.example'))).rejects.toThrow('public address');
  });

  test('is refused when only one of its addresses leads inside', async () => {
    names.set('mixed.example', [[PUBLIC, INNER]]);
    await expect(fetchWith(url('/', 'mixed.example'))).rejects.toThrow('public address');
  });
});

describe('redirects', () => {
  const chain =
    (length: number): RequestListener =>
    (request, response) => {
      const step = Number(request.url?.slice(1));
      if (step === length) response.writeHead(200, { 'content-type': 'image/png' }).end(CONTENT);
      else response.writeHead(307, { location: `/${step + 1}` }).end();
    };

  test('are followed three times and not a fourth', async () => {
    answer = chain(3);
    expect((await fetchWith(url('/0'))).status).toBe(200);
    answer = chain(4);
    await expect(fetchWith(url('/0'))).rejects.toThrow('leads on too often');
  });

  test.each([
    ['an inner address', () => url('/', INNER)],
    ['an inner address in decimal', () => `http://2130706434:${port}/`],
    ['an inner address in IPv6', () => `http://[::ffff:127.0.0.2]:${port}/`],
    ['a file', () => 'file:///etc/passwd'],
    ['a script', () => 'javascript:alert(1)'],
    ['an address without a host', () => 'http://'],
  ])('to %s are refused', async (_, location) => {
    answer = (_request, response) => {
      response.writeHead(301, { location: location() }).end();
    };
    await expect(fetchWith(url())).rejects.toThrow(FetchRefused);
  });

  test('without an address are an answer like any other', async () => {
    answer = (_request, response) => {
      response.writeHead(302).end();
    };
    expect((await fetchWith(url())).status).toBe(302);
  });
});

describe('30 seconds', () => {
  /** Resolves when the server has received the request. */
  const arrived = (then: (response: Parameters<RequestListener>[1]) => void) =>
    new Promise<void>((resolve) => {
      answer = (_request, response) => {
        then(response);
        resolve();
      };
    });

  test.each<[string, (response: Parameters<RequestListener>[1]) => void]>([
    ['a server that says nothing', () => undefined],
    ['a server that stops after its headers', (response) => void response.writeHead(200).flushHeaders()],
    [
      'a server that drips',
      (response) => {
        const drip = () => {
          if (response.destroyed) return;
          response.write('x');
          setImmediate(drip);
        };
        drip();
      },
    ],
  ])('are all that %s gets', async (_, then) => {
    const reached = arrived(then);
    const fetched = fetchWith(url()).catch((error: unknown) => error);
    await reached;
    await clock.pass(29_999);
    expect(await Promise.race([fetched, Promise.resolve('pending')])).toBe('pending');
    await clock.pass(1);
    expect(await fetched).toEqual(new FetchRefused('it took too long'));
  });

  test('are all that a resolver gets', async () => {
    const silent: FetchPolicy = { ...policy, lookup: () => undefined };
    const fetched = fetchWith('http://slow.example/', silent).catch((error: unknown) => error);
    await clock.pass(30_000);
    expect(await fetched).toEqual(new FetchRefused('it took too long'));
  });

  test('are for all redirects together', async () => {
    let hop = 0;
    const hops: (() => void)[] = [];
    answer = (_request, response) => {
      hop += 1;
      hops.push(() => response.writeHead(302, { location: `/${hop}` }).end());
    };
    const fetched = fetchWith(url()).catch((error: unknown) => error);
    await expect.poll(() => hops.length).toBe(1);
    await clock.pass(20_000);
    hops[0]?.();
    await expect.poll(() => hops.length).toBe(2);
    await clock.pass(10_000);
    expect(await fetched).toEqual(new FetchRefused('it took too long'));
  });
});

describe('what arrives', () => {
  test('is counted, and ends at the cap, with any Content-Length', async () => {
    answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' });
      const pour = (): void => {
        if (!response.destroyed && response.write(Buffer.alloc(16 * 1024))) setImmediate(pour);
        else response.once('drain', pour);
      };
      pour();
    };
    await expect(fetchWith(url())).rejects.toThrow(`larger than ${CAP} bytes`);
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': String(CAP) }).end(Buffer.alloc(CAP));
    };
    expect((await fetchWith(url())).bytes.length).toBe(CAP);
  });

  test('is refused when it is cut off', async () => {
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half');
      setImmediate(() => response.destroy());
    };
    await expect(fetchWith(url())).rejects.toThrow('did not answer as it should');
  });

  test('ends with the service', async () => {
    const stop = new AbortController();
    const fetcher = createFetcher({ clock, policy, stopping: stop.signal });
    const reached = new Promise<void>((resolve) => {
      answer = () => resolve();
    });
    const fetched = fetcher.get(url(), { maxBytes: CAP }).catch((error: unknown) => error);
    await reached;
    stop.abort(new FetchRefused('the service is stopping'));
    expect(await fetched).toEqual(new FetchRefused('the service is stopping'));
    await expect(fetcher.get(url(), { maxBytes: CAP })).rejects.toThrow('stopping');
  });
});
