import { afterEach, describe, expect, test } from 'vitest';
import { languageFor } from './language.ts';
import { localeTag, plural, putInForce, rich, t } from './translate.ts';

afterEach(() => putInForce({}, 'en-GB'));

const german = () =>
  putInForce(
    {
      'Launch {app}': '{app} starten',
      '{n} apps': { one: '{n} App', other: '{n} Apps' },
    },
    'de-DE',
  );

describe('a text', () => {
  test('is English without a table, with its places filled', () => {
    expect(t('Launch {app}', { app: 'Blender' })).toBe('Launch Blender');
    expect(plural(1, '{n} app', '{n} apps')).toBe('1 app');
    expect(plural(2000, '{n} app', '{n} apps')).toBe('2,000 apps');
  });

  test('is translated by the table, also where the order of its places differs', () => {
    german();
    expect(t('Launch {app}', { app: 'Blender' })).toBe('Blender starten');
    expect(plural(1, '{n} app', '{n} apps')).toBe('1 App');
    expect(plural(2000, '{n} app', '{n} apps')).toBe('2.000 Apps');
    expect(localeTag()).toBe('de-DE');
  });

  test('stays English where the table lacks it, whatever its name', () => {
    german();
    expect(t('constructor')).toBe('constructor');
    expect(t('Not there')).toBe('Not there');
  });

  test('takes a value as it is, with braces too', () => {
    expect(t('Launch {app}', { app: '{app}' })).toBe('Launch {app}');
    expect(t('Launch {app}', {})).toBe('Launch {app}');
  });

  test('has elements in its places', () => {
    german();
    expect(rich('Launch {app}', { app: 7 })).toEqual(['', 7, ' starten']);
  });
});

describe('the language', () => {
  test.each([
    ['auto', ['de-CH', 'en'], 'de'],
    ['auto', ['fr-FR', 'de', 'en'], 'de'],
    ['auto', ['en-US', 'de'], 'en'],
    ['auto', ['fr'], 'en'],
    ['auto', [], 'en'],
    ['de', ['en'], 'de'],
    ['en', ['de'], 'en'],
  ] as const)('chosen %s in a browser that wants %j is %s', (choice, wanted, language) => {
    expect(languageFor(choice, wanted)).toBe(language);
  });
});
