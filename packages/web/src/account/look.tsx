import { NativeSelect } from '@mantine/core';
import { chooseLanguage, LANGUAGES, type LanguageChoice, readLanguageChoice } from '../i18n/language.ts';
import { t } from '../i18n/translate.ts';
import { chooseScheme, type SchemeChoice, useSchemeChoice } from '../theme/scheme.ts';

/** Colours and language of the pages in this browser. */
export function Look() {
  const scheme = useSchemeChoice();
  return (
    <>
      <NativeSelect
        label={t('Colours')}
        data={[
          { value: 'auto', label: t('Same as the system') },
          { value: 'dark', label: t('Dark') },
          { value: 'light', label: t('Light') },
        ]}
        value={scheme}
        onChange={(event) => chooseScheme(event.currentTarget.value as SchemeChoice)}
      />
      <NativeSelect
        label={t('Language')}
        data-language="list"
        data={[
          { value: 'auto', label: t('As the browser') },
          ...LANGUAGES.map(({ code, name }) => ({ value: code, label: name })),
        ]}
        value={readLanguageChoice()}
        onChange={(event) => void chooseLanguage(event.currentTarget.value as LanguageChoice)}
      />
    </>
  );
}
