/**
 * Paths of all mount points in a table of mounts. Pure.
 * @param table content of /proc/self/mountinfo: the path is the fifth field, with spaces as \040
 * Source: proc_pid_mountinfo(5).
 */
export function mountPoints(table: string): string[] {
  return table.split('\n').flatMap((line) => {
    const path = line.split(' ')[4];
    return path === undefined ? [] : [path.replace(/\\([0-7]{3})/g, (_, code) => octal(code))];
  });
}

const octal = (code: string): string => String.fromCharCode(Number.parseInt(code, 8));

/** A mount point at a path or below it; null: none. Pure. @param path without links */
export function mountWithin(path: string, points: readonly string[]): string | null {
  return points.find((point) => point === path || point.startsWith(`${path}/`)) ?? null;
}
