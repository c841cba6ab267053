import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { accessCheck } from '../../../test/fixtures.ts';
import { ACCESS_SENTENCES, findingsOf } from './access-findings.ts';

describe('the access step', () => {
  test('knows the sentences of the server', () => {
    const file = path.resolve(
      import.meta.dirname,
      '../../../../../control-plane/src/accounts/setup/access-check.ts',
    );
    const said = readFileSync(file, 'utf8').replace(/\$\{[^{}]*\}/g, '{}');
    for (const sentence of ACCESS_SENTENCES) expect(said).toContain(sentence.replace(/\{\w+\}/g, '{}'));
  });

  test('accepts a secure address and points at the certificate', () => {
    expect(findingsOf(accessCheck).map(({ key, good }) => [key, good])).toEqual([
      ['secure', true],
      ['certificate', false],
      ['origin', true],
    ]);
  });

  test('shows the line that a proxy in front needs', () => {
    const advice = 'If it is your proxy, set SERVICE_TRUSTED_PROXIES=10.0.0.0/8,172.17.0.1 and restart.';
    const verdicts = findingsOf({ ...accessCheck, request: { ...accessCheck.request, advice } });
    expect(verdicts.find(({ key }) => key === 'proxy')).toMatchObject({
      good: false,
      text: advice,
      copy: 'SERVICE_TRUSTED_PROXIES=10.0.0.0/8,172.17.0.1',
    });
  });

  test('offers the entry that a refused origin needs', () => {
    const refused = findingsOf({
      ...accessCheck,
      origins: {
        ...accessCheck.origins,
        request_origin_allowed: false,
        suggested_entry: 'https://b.example',
      },
    });
    expect(refused[2]).toMatchObject({ good: false, copy: 'https://b.example' });
  });
});
