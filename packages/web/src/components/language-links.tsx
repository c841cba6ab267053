import { chooseLanguage, LANGUAGES, useLanguage } from '../i18n/language.ts';
import { t } from '../i18n/translate.ts';
import styles from './components.module.css';

/** The languages by their own names, as one row of buttons. */
export function LanguageLinks() {
  const current = useLanguage();
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would be announced as part of a form
    <div className={styles.languages} role="group" aria-label={t('Language')}>
      {LANGUAGES.map(({ code, name }) => (
        <button
          key={code}
          type="button"
          lang={code}
          data-language={code}
          className={styles.language}
          aria-pressed={code === current}
          onClick={() => void chooseLanguage(code)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
