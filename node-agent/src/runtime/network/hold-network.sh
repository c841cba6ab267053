#!/bin/sh
# Process 1 of the process namespace in which an app's network namespace is held, run as root by `unshare`.
#
# usage: hold-network.sh HOST_NETWORK SETUP4 SETUP6 [TRANSLATION LIMITS PASTA...]
#
# It runs in the new network namespace. SETUP4 and SETUP6 are commands for `ip -batch`. TRANSLATION and LIMITS are rules
# for nft; on a kernel that cannot count connections, LIMITS is skipped. PASTA is the command line of pasta, to which
# two options are added; without it the namespace has only its loopback. Descriptor 4 has pasta's seccomp filter. The
# word `ready` on descriptor 3 means that apps may enter. When this process ends, pasta ends too.
set -eu

# nft is there in Debian.
PATH=$PATH:/usr/sbin:/sbin
host=$1 setup4=$2 setup6=$3
shift 3

printf '%s\n' "$setup4" | ip -batch -
# This file is missing if the kernel was started without IPv6.
[ ! -e /proc/net/if_inet6 ] || printf '%s\n' "$setup6" | ip -6 -batch -

# Memory limit of a socket's options (such as multicast filters), which no control group counts. This is the kernel's
# default until Linux 6.6; later it is 128 KiB. Before 6.7 it cannot be set per namespace.
echo 20480 2>/dev/null >/proc/sys/net/core/optmem_max || true

if [ $# = 0 ]; then
  echo ready >&3
  exec sleep infinity
fi

printf '%s\n' "$1" | nft -f -
printf '%s\n' "$2" | nft -f - || true
shift 2

# A path of the namespace that pasta can open: when pasta opens it, it has already dropped the right to read it from
# /proc. The mount is private to this process.
mount -t tmpfs -o mode=0700,size=64k footlight-network /tmp
: >/tmp/network
mount --bind /proc/self/ns/net /tmp/network

# pasta stays in the foreground and writes its process number once everything is set up.
{ nsenter --net="$host" bwrap --dev-bind / / --seccomp 4 -- "$@" --netns /tmp/network --pid /proc/self/fd/8 8>&1 >&2 3>&-; } |
  { read -r _ && echo ready >&3; }
