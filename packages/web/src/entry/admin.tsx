import '../styles.ts';
import { start } from '../start.tsx';
import { addLanguages } from '../words/language.ts';

addLanguages({ de: () => import('../words/de/index.ts') });
addLanguages({ de: () => import('../admin/words/de.ts') });
void start();
