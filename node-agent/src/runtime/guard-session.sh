#!/bin/sh
# Head of the process group of a session's app, where the app has no process namespace of its own.
#
# usage: guard-session.sh INSTANCE COMMAND...
#
# Descriptor 3 is a pipe that only the agent holds. When the agent is gone the read ends; then everything that the
# app started is killed, also what has left the group, and the guard with it. The command gets its arguments as
# they are: no word of it is read by this shell.
set -eu

# When the host runs out of memory, the kernel ends an app before the agent and the sessions of others.
echo 500 >/proc/self/oom_score_adj

instance=$1
shift

# Processes of the app outside this group, found by the variable that they were started with.
kill_strays() {
  for dir in /proc/[0-9]*; do
    grep -qszxF "FOOTLIGHT_APP=$instance" "$dir/environ" || continue
    read -r line <"$dir/stat" || continue
    # The name is in parentheses and may hold anything; state, parent and group follow it.
    set -- ${line##*) }
    [ "$3" = "$$" ] || kill -KILL "${dir#/proc/}" || true
  done
}

(
  read -r _ <&3 || true
  { kill_strays; kill_strays; } 2>/dev/null || true
  kill -KILL 0
) &

# Descriptor 3 is also where run-app.pl tells the agent of the app; the app itself does not get it.
"$@"
exit $?
