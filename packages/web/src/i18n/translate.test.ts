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
  test('is English without a table, with its placeholders filled', () => {
    expect(t('Launch {app}', { app: 'Blender' })).toBe('Launch Blender');
    expect(plural(1, '{n} app', '{n} apps')).toBe('1 app');
    expect(plural(2000, '{n} app', '{n} apps')).toBe('2,000 apps');
  });

  test('is translated by the table, also if the order of its placeholders differs', () => {
    german();
    expect(t('Launch {app}', { app: 'Blender' })).toBe('Blender starten');
    expect(plural(1, '{n} app', '{n} apps')).toBe('1 App');
    expect(plural(2000, '{n} app', '{n} apps')).toBe('2.000 Apps');
    expect(localeTag()).toBe('de-DE');
  });

  test('stays English if the table lacks it, even for a name such as "constructor"', () => {
    german();
    expect(t('constructor')).toBe('constructor');
    expect(t('Not there')).toBe('Not there');
  });

  test('inserts a value unchanged, even with braces', () => {
    expect(t('Launch {app}', { app: '{app}' })).toBe('Launch {app}');
    expect(t('Launch {app}', {})).toBe('Launch {app}');
  });

  test('accepts elements for its placeholders', () => {
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
