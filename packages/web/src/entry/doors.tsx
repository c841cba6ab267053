import '../styles.ts';
import { startDoors } from '../start-doors.tsx';
import { addLanguages } from '../words/language.ts';

addLanguages({ de: () => import('../words/de/index.ts') });
void startDoors();
