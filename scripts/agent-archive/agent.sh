#!/bin/sh
# Makes this machine a host of Footlight: installs the agent and the packages that it needs, enrolls it, and starts it
# as a service.
#
# The console of the control plane shows the command to run. This script is configured by environment variables:
# SERVICE_CONTROL_URL, SERVICE_ENROLLMENT_TOKEN, SERVICE_CONTROL_FINGERPRINT if the control plane's certificate is
# self-signed, and any other SERVICE_ variable of the agent. A second run upgrades the agent, which keeps its identity,
# its homes and its settings.
set -eu

ARCHIVE_SHA256=@ARCHIVE_SHA256@
PACKAGES='@PACKAGES@'
PROGRAM_DIR=/opt/footlight-agent
ENVIRONMENT=/etc/footlight/agent.env
SUPERVISOR_PID=/run/footlight-agent.pid
LOG=/var/log/footlight-agent.log
CONNECT_SECS=90

say() { printf '%s\n' "$*"; }
fail() {
  printf 'Footlight: %s\n' "$*" >&2
  exit 1
}

check_machine() {
  [ "$(id -u)" = 0 ] || fail 'this needs root; run the line with sudo.'
  [ "$(uname -s) $(uname -m)" = 'Linux x86_64' ] || fail "hosts are Linux on x86-64; this is $(uname -s) on $(uname -m)."
  command -v apt-get >/dev/null || fail 'hosts are Debian 12, and there is no apt-get here.'
  command -v curl >/dev/null || fail 'curl is missing; run: apt-get install curl'
  [ -n "${SERVICE_CONTROL_URL:-}" ] || fail 'SERVICE_CONTROL_URL is not set; copy the whole line from the console.'
  if [ -z "${SERVICE_ENROLLMENT_TOKEN:-}" ] && [ ! -f "$ENVIRONMENT" ]; then
    fail 'SERVICE_ENROLLMENT_TOKEN is not set; copy the whole line from the console.'
  fi
  # Set to empty if it was not passed, because a pinned fingerprint from an earlier run would refuse a certificate that
  # is trusted now.
  export SERVICE_CONTROL_FINGERPRINT="${SERVICE_CONTROL_FINGERPRINT:-}"
}

install_packages() {
  missing=
  for name in $PACKAGES; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) || state=
    [ "$state" = installed ] || missing="$missing $name"
  done
  [ -n "$missing" ] || return 0
  say "Installing Debian packages:$missing"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq update || fail 'apt-get update failed; see above.'
  # Not quoted, because each package must be a separate argument.
  # shellcheck disable=SC2086
  apt-get -qq -y install --no-install-recommends $missing >/dev/null || fail "apt-get could not install:$missing"
}

# With a pinned fingerprint, curl does not verify the certificate. This is safe, because the archive is checked against
# the checksum in this script.
fetch_archive() {
  say "Fetching the agent from $SERVICE_CONTROL_URL"
  archive=$scratch/agent.tgz
  set -- -fsS -o "$archive"
  [ -z "$SERVICE_CONTROL_FINGERPRINT" ] || set -- "$@" -k
  [ ! -f "${SERVICE_CONTROL_CA:-/nonexistent}" ] || set -- "$@" --cacert "$SERVICE_CONTROL_CA"
  # If there are several replicas, the first one is used, because all have the same archive.
  first=${SERVICE_CONTROL_URL%%,*}
  curl "$@" "${first%/}/install/agent-linux-x64.tgz" || fail 'the agent could not be fetched.'
  printf '%s  %s\n' "$ARCHIVE_SHA256" "$archive" | sha256sum --check --status ||
    fail 'what was fetched is not the agent that this script belongs to. Nothing was installed; copy the line anew.'
}

unpack() {
  rm -rf "$PROGRAM_DIR.new" "$PROGRAM_DIR.old"
  mkdir -p "$PROGRAM_DIR.new"
  tar -xzf "$archive" -C "$PROGRAM_DIR.new" --no-same-owner
  chmod 755 "$PROGRAM_DIR.new"
  [ ! -d "$PROGRAM_DIR" ] || mv "$PROGRAM_DIR" "$PROGRAM_DIR.old"
  mv "$PROGRAM_DIR.new" "$PROGRAM_DIR"
  rm -rf "$PROGRAM_DIR.old"
}

# If process 1 is not systemd, the supervisor of scripts/up runs the agent until this machine is turned off.
supervise() {
  if [ -f "$SUPERVISOR_PID" ]; then
    former=$(cat "$SUPERVISOR_PID")
    if tr '\0' ' ' <"/proc/$former/cmdline" 2>/dev/null | grep -q "$PROGRAM_DIR/supervisor"; then
      kill "$former"
      # The old supervisor first ends the sessions of its agent, so this script waits for it.
      waited=0
      while [ -d "/proc/$former" ] && [ "$waited" -lt 20 ]; do
        sleep 1
        waited=$((waited + 1))
      done
    fi
  fi
  setsid "$PROGRAM_DIR/node" "--env-file=$ENVIRONMENT" "$PROGRAM_DIR/supervisor/supervise-agent.mjs" >/dev/null 2>&1 &
  printf '%s\n' "$!" >"$SUPERVISOR_PID"
  say "The supervisor of Footlight keeps the agent running until this machine is turned off; its log is $LOG."
}

# The agent enrolls itself at its start.
wait_until_connected() {
  health=$(sed -n "s/^SERVICE_AGENT_HEALTH_ADDR='\(.*\)'\$/\1/p" "$ENVIRONMENT")
  port=${health##*:}
  waited=0
  while [ "$waited" -lt "$CONNECT_SECS" ]; do
    case $(curl -fsS --max-time 2 "http://127.0.0.1:${port:-9091}/health" 2>/dev/null) in
      *'"connected":true'*) return 0 ;;
    esac
    sleep 1
    waited=$((waited + 1))
  done
  return 1
}

main() {
  check_machine
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  install_packages
  fetch_archive
  unpack
  "$PROGRAM_DIR/node" "$PROGRAM_DIR/node-agent/dist/main.js" install || fail 'the agent could not be installed as a service.'
  [ -d /run/systemd/system ] || supervise
  outcome=0
  if wait_until_connected; then
    say "This host is connected to $SERVICE_CONTROL_URL."
  else
    outcome=1
    say "This host has not connected to $SERVICE_CONTROL_URL within $CONNECT_SECS s. What its agent says:"
    if [ -d /run/systemd/system ]; then
      journalctl -u footlight-agent -n 10 --no-pager -o cat || true
    else
      tail -n 10 "$LOG" || true
    fi
  fi
  say ''
  say 'What this machine can do:'
  /usr/local/bin/footlight-agent doctor || true
  return "$outcome"
}

# The only command outside of functions is the last line, so that a partly downloaded script does nothing. Standard
# input is replaced, because it is the pipe with the script.
main </dev/null
