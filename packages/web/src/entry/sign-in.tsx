import '../styles.ts';
import { addLanguages } from '../i18n/language.ts';
import { startSignIn } from '../start-sign-in.tsx';

addLanguages({ de: () => import('../i18n/de.po') });
void startSignIn();
