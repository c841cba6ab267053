#!/bin/sh
# Process 1 of the process namespace in which an app's network namespace is held, run as root by `unshare`.
#
# usage: hold-network.sh HOST_NETWORK SETUP4 SETUP6 [TRANSLATION LIMITS PASTA...]
#
# It stands in the new network namespace. SETUP4 and SETUP6 are commands for `ip -batch`. TRANSLATION and LIMITS are
# rules for nft; a kernel that cannot count connections does without LIMITS. PASTA is the command line of pasta, which gets two options more; without it the namespace has its loopback alone.
# The word `ready` on descriptor 3 says that apps may come in. When this process ends, so does pasta. Descriptor 4 has
# pasta's seccomp filter.
set -eu

# nft lies there in Debian.
PATH=$PATH:/usr/sbin:/sbin
host=$1 setup4=$2 setup6=$3
shift 3

printf '%s\n' "$setup4" | ip -batch -
# Not there where the kernel was started without IPv6.
[ ! -e /proc/net/if_inet6 ] || printf '%s\n' "$setup6" | ip -6 -batch -

# What options of a socket may take (multicast filters and the like), which no control group counts: the kernel's value
# until Linux 6.6, instead of 128 KiB. Before 6.7 it is no value of a namespace.
echo 20480 2>/dev/null >/proc/sys/net/core/optmem_max || true

if [ $# = 0 ]; then
  echo ready >&3
  exec sleep infinity
fi

printf '%s\n' "$1" | nft -f -
printf '%s\n' "$2" | nft -f - || true
shift 2

# A name for the namespace that pasta may open: it has given up the right to read it from /proc by then. The mount is
# private to this process.
mount -t tmpfs -o mode=0700,size=64k footlight-network /tmp
: >/tmp/network
mount --bind /proc/self/ns/net /tmp/network

# pasta stays in the foreground and writes its process number once everything is set up.
{ nsenter --net="$host" bwrap --dev-bind / / --seccomp 4 -- "$@" --netns /tmp/network --pid /proc/self/fd/8 8>&1 >&2 3>&-; } |
  { read -r _ && echo ready >&3; }
