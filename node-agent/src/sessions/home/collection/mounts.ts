/**
 * Paths of all mount points in a table of mounts. Pure.
 * @param table content of /proc/self/mountinfo: the path is the fifth field, in which spaces are written as \040
 * Source: proc_pid_mountinfo(5).
 */
export function mountPoints(table: string): string[] {
  return table.split('\n').flatMap((line) => {
    const path = line.split(' ')[4];
    return path === undefined ? [] : [path.replace(/\\([0-7]{3})/g, (_, code) => octal(code))];
  });
}

const octal = (code: string): string => String.fromCharCode(Number.parseInt(code, 8));

/** A mount point at or below a path; null: there is none. Pure. @param path with links resolved */
export function mountWithin(path: string, points: readonly string[]): string | null {
  return points.find((point) => point === path || point.startsWith(`${path}/`)) ?? null;
}
