import '../styles.ts';
import { startSignIn } from '../start-sign-in.tsx';
import { addLanguages } from '../words/language.ts';

addLanguages({ de: () => import('../words/de/index.ts') });
void startSignIn();
