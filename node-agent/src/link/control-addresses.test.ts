import { seededRandom } from '@footlight/platform/testing';
import { expect, test } from 'vitest';
import { ControlAddresses } from './control-addresses.ts';

const URLS = ['a', 'b', 'c', 'd'].map((name) => new URL(`https://${name}.example`));
const random = seededRandom(1);
const round = (addresses: ControlAddresses): URL[] => URLS.map(() => addresses.next());

test('each replica is dialed once before any is repeated', () => {
  const addresses = new ControlAddresses(URLS, random);
  for (let n = 0; n < 20; n += 1) expect(new Set(round(addresses))).toEqual(new Set(URLS));
});

test('hosts begin with different replicas', () => {
  const first = new Set(Array.from({ length: 100 }, () => new ControlAddresses(URLS, random).next()));
  expect(first).toEqual(new Set(URLS));
});

test('the last working replica is the first of the next round', () => {
  const addresses = new ControlAddresses(URLS, random);
  for (let n = 0; n < 20; n += 1) {
    addresses.next();
    const good = addresses.next();
    addresses.worked();
    expect(addresses.dialed).toBe(good);
    const [again, ...others] = round(addresses);
    expect(again).toBe(good);
    expect(new Set(others)).toEqual(new Set(URLS.filter((url) => url !== good)));
  }
});
