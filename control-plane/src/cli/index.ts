export { run } from './program.ts';
export { systemTerminal } from './terminal.ts';
