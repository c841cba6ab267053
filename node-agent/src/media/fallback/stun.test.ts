import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isAuthentic, REPAIRED_PRIORITY, readBindingRequest, refusalOf, repairRequest } from './stun.ts';
import { bindingRequest } from './testing/binding-request.ts';

const PWD = 'a-password-of-the-host-01';
const fields = { username: 'host:page', pwd: PWD };

function read(packet: Buffer) {
  const request = readBindingRequest(packet);
  if (request === null) throw new Error('not read');
  return request;
}

describe('a connectivity check of a browser', () => {
  test.each([true, false])('names its receiver and proves the password (fingerprint: %s)', (fingerprint) => {
    const request = read(bindingRequest({ ...fields, tieBreaker: 5n, fingerprint }));
    expect(request.ufrag).toBe('host');
    expect(request.hasFingerprint).toBe(fingerprint);
    expect(isAuthentic(request, PWD)).toBe(true);
    expect(isAuthentic(request, `${PWD}2`)).toBe(false);
  });

  test('one changed bit makes it false', () => {
    const packet = bindingRequest({ ...fields, tieBreaker: 5n, fingerprint: false });
    fc.assert(
      fc.property(fc.nat(packet.length - 1), fc.nat(7), (at, bit) => {
        const changed = Buffer.from(packet);
        changed[at] = (changed[at] ?? 0) ^ (1 << bit);
        const request = readBindingRequest(changed);
        expect(request !== null && isAuthentic(request, PWD)).toBe(false);
      }),
    );
  });

  test.each(['controlled', 'controlling'] as const)(
    'the tie-breaker 0 is replaced, and the priority is raised (%s)',
    (role) => {
      for (const fingerprint of [true, false]) {
        const broken = bindingRequest({ ...fields, tieBreaker: 0n, role, fingerprint });
        const repaired = repairRequest(read(broken), PWD);
        expect(repaired).toEqual(
          bindingRequest({ ...fields, tieBreaker: 1n, role, fingerprint, priority: REPAIRED_PRIORITY }),
        );
        expect(broken).toEqual(bindingRequest({ ...fields, tieBreaker: 0n, role, fingerprint }));
      }
    },
  );

  test('any other tie-breaker, and none, stay', () => {
    for (const tieBreaker of [1n, 2n ** 64n - 1n, undefined]) {
      const packet = bindingRequest({ ...fields, ...(tieBreaker === undefined ? {} : { tieBreaker }) });
      expect(repairRequest(read(packet), PWD)).toBe(packet);
    }
  });
});

test('the answer 400 repeats the transaction of the request', () => {
  const request = bindingRequest(fields);
  expect(refusalOf(request)?.toString('hex')).toBe(
    `01110008${request.toString('hex', 4, 20)}0009000400000400`,
  );
  expect(refusalOf(Buffer.from('no request'))).toBeNull();
});

test('no bytes do harm: they are read, or refused', () => {
  const valid = bindingRequest({ ...fields, tieBreaker: 0n });
  const hostile = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    // A valid header before random attributes.
    fc.uint8Array({ maxLength: 60 }).map((bytes) => {
      const body = Buffer.from(bytes.slice(0, bytes.length - (bytes.length % 4)));
      const header = Buffer.from(valid.subarray(0, 20));
      header.writeUInt16BE(body.length, 2);
      return Buffer.concat([header, body]);
    }),
    // A valid request with some other bytes.
    fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { maxLength: 4 }).map((changes) => {
      const packet = Buffer.from(valid);
      for (const [at, value] of changes) packet[at] = value;
      return packet;
    }),
  );
  fc.assert(
    fc.property(hostile, fc.string(), (packet, pwd) => {
      refusalOf(packet);
      const request = readBindingRequest(packet);
      if (request === null) return;
      isAuthentic(request, pwd);
      expect(repairRequest(request, pwd)).toHaveLength(packet.length);
    }),
    { numRuns: 2_000 },
  );
});
