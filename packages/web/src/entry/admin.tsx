import '../styles.ts';
import { addLanguages } from '../i18n/language.ts';
import { start } from '../start.tsx';

addLanguages({ de: () => import('../i18n/de.po') });
addLanguages({ de: () => import('../admin/i18n/de.po') });
void start();
