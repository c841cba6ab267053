import '../styles.ts';
import { start } from '../start.tsx';

// The administrators' pages are in English, so dates and numbers are too.
void start();
