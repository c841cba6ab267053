import { type RawBuilder, sql } from 'kysely';

/**
 * A value that sorts names as people do, whatever their case: "gpu-2" before "gpu-10". Null for a missing name.
 * Names with the same text before their last digits are sorted by their length; 1000 makes all lengths equally wide.
 * @param column a text of at most 8,999 characters, with its table, such as `hosts.node_name`
 */
export function nameOrder(column: string): RawBuilder<string | null> {
  const name = sql.ref(column);
  return sql<
    string | null
  >`lower(rtrim(${name}, '0123456789')) || ' ' || (1000 + length(${name})) || lower(${name})`;
}
