import { createSecretKey } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { retryWaitMs } from './retry.ts';
import { signatureOf } from './signature.ts';

test('a signature is the one of the reference library', () => {
  // From the tests of Standard Webhooks' own libraries.
  const key = createSecretKey(Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64'));
  expect(signatureOf(key, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, '{"test": 2432232314}')).toBe(
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  );
});

test('the wait after a failure doubles, has jitter, and ends at ten minutes', () => {
  expect([1, 2, 3, 4].map((failures) => retryWaitMs(failures, 0))).toEqual([2_500, 5_000, 10_000, 20_000]);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5_000 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (failures, chance) => {
        const waitMs = retryWaitMs(failures, chance);
        expect(waitMs).toBeGreaterThanOrEqual(2_500);
        expect(waitMs).toBeLessThan(600_000);
      },
    ),
  );
});
