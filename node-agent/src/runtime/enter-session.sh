#!/bin/sh
# Process 1 of a session's own process and mount namespaces, run as root by `unshare`.
#
# usage: enter-session.sh STAGING TMP_BYTES PASSWD GROUP [--join CGROUP_PROCS]... [--keep PATH]...
#                         [--only-home HOME] [--resolver RESOLV_CONF] -- COMMAND...
#
# It gives the session a /tmp, /var/tmp, /run/lock and /dev/shm of its own, keeps the paths that the session needs
# although they lie below /tmp or /var/tmp, and lets the session's user have a name. The command gets its arguments as
# they are: no word of it is read by this shell. When the command ends, so does this process, and with it everything in
# the namespace.
#
# Where two sessions could both write they could also meet: a socket there would carry descriptors from one to the
# other, and what these hold (memory, counts of the kernel for a user id) would outlive the session that made it.
set -eu

# When the host runs out of memory, the kernel ends an app before the agent and the sessions of others.
echo 500 >/proc/self/oom_score_adj

staging=$1 tmp_bytes=$2 passwd=$3 group=$4
shift 4

way=
own_tmp=$staging/tmp
own_var_tmp=$staging/var/tmp
mkdir -p "$own_tmp" "$own_var_tmp"
for dir in "$own_tmp" "$own_var_tmp"; do
  mount -t tmpfs -o "size=$tmp_bytes,mode=1777,nosuid,nodev" footlight-tmp "$dir"
done

while [ "$1" != -- ]; do
  case $1 in
    --join)
      echo 0 >"$2"
      ;;
    --keep)
      below=$staging$2
      if [ -d "$2" ]; then
        mkdir -p "$below"
      else
        mkdir -p "${below%/*}"
        : >"$below"
      fi
      mount --bind "$2" "$below"
      ;;
    --only-home)
      # Other homes of the same person lie beside it.
      way=${2%/*}
      mkdir "$staging/way"
      mount -t tmpfs -o size=64k,mode=755,nosuid,nodev footlight-homes "$staging/way"
      mkdir "$staging/way/${2##*/}"
      mount --bind "$2" "$staging/way/${2##*/}"
      ;;
    --resolver)
      # A host without the file, or with a link to nowhere, has no resolver to hide.
      [ ! -e /etc/resolv.conf ] || mount --bind "$2" /etc/resolv.conf
      ;;
  esac
  shift 2
done
shift

mount --bind "$passwd" /etc/passwd
mount --bind "$group" /etc/group
mount -t tmpfs -o "size=$tmp_bytes,mode=1777,nosuid,nodev" footlight-shm /dev/shm
# The queues of this IPC namespace instead of the host's.
[ ! -d /dev/mqueue ] || mount -t mqueue -o nosuid,nodev,noexec footlight-mqueue /dev/mqueue
# Terminals of its own: the host has a few thousand for all its users.
[ ! -d /dev/pts ] || mount -t devpts -o newinstance,nosuid,noexec,gid=5,mode=620,ptmxmode=666,max=256 footlight-pts /dev/pts
# What the host stores by user id, and shows to that id: journals and cores (access lists of systemd), reports of
# crashes (owned by it). A former session, of another person, had the same id.
for dir in /var/log/journal /run/log/journal /var/lib/systemd/coredump /var/crash; do
  [ ! -d "$dir" ] || mount -t tmpfs -o ro,mode=755,nr_inodes=1,nosuid,nodev,noexec footlight-empty "$dir"
done
[ ! -d /run/lock ] || mount -t tmpfs -o size=1m,mode=1777,nosuid,nodev,noexec footlight-lock /run/lock
[ -z "$way" ] || mount --move "$staging/way" "$way"
# Last, because what was named above may lie below these two. The one that hides the staging directory comes second.
move_var_tmp() {
  # A link leads to a directory that the session has anyway, such as /tmp.
  if [ -d /var/tmp ] && [ ! -L /var/tmp ]; then mount --move "$own_var_tmp" /var/tmp; fi
}
case $staging in
  /var/tmp/*)
    mount --move "$own_tmp" /tmp
    move_var_tmp
    ;;
  *)
    move_var_tmp
    mount --move "$own_tmp" /tmp
    ;;
esac

# Not exec: a process 1 without handlers ignores SIGTERM, and somebody has to reap what daemons leave behind.
"$@"
exit $?
