import type { StorageReport } from '@footlight/protocol/agent';

const MIB = 1024 * 1024;
/** Types of file systems that contain no user data, or that are on another machine. */
const PSEUDO =
  /^(tmpfs|devtmpfs|overlay|squashfs|proc|sysfs|cgroup.*|fuse\.(?!ntfs).*|ramfs|efivarfs|autofs)$/;

interface Disk {
  fs: string;
  type: string;
  size: number;
  available: number;
  mount: string;
}

/** Lists real file systems, one row per device, with its first mount point. Pure. */
export function storageOf(disks: readonly Disk[]): StorageReport[] {
  const seen = new Set<string>();
  return disks
    .filter((disk) => !PSEUDO.test(disk.type) && disk.size > 0)
    .filter(({ fs }) => !seen.has(fs) && seen.add(fs))
    .slice(0, 32)
    .map((disk) => ({
      label: disk.fs.slice(-64),
      path: disk.mount,
      total_mb: Math.floor(disk.size / MIB),
      available_mb: Math.floor(disk.available / MIB),
    }));
}

/** Whether a disk changed by at least 1 GiB or 1 %, so that a new report is necessary. Pure. */
export function storageMoved(before: readonly StorageReport[], after: readonly StorageReport[]): boolean {
  if (before.length !== after.length) return true;
  return after.some((disk, index) => {
    const old = before[index];
    if (!old || old.path !== disk.path || old.total_mb !== disk.total_mb) return true;
    const movedMb = Math.abs(disk.available_mb - old.available_mb);
    return movedMb >= 1024 || movedMb >= disk.total_mb / 100;
  });
}
