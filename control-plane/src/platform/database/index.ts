export { bool, flag, fromJson, instant, instantOrNull, toJson } from './codec.ts';
export type { Database, Executor, Tx } from './database.ts';
export { isDown, isUnanswered, isUnavailable, isUniqueViolation, refusingTaken } from './failures.ts';
export { type DatabaseTarget, openDatabase } from './open.ts';
export { prepareForKeys } from './prepared.ts';
export { readOnce, readTogether } from './read-together.ts';
export type { Schema } from './schema.ts';
export { DamagedDatabase } from './sqlite-file.ts';
export { insertStatement, statement } from './statements.ts';
