# Sourced by the scripts that a person runs: refuses an untested version of Node, with one sentence.
node_version=$(node --version 2>/dev/null | sed 's/^v//')
node_major=${node_version%%.*}
node_minor=$(printf '%s' "$node_version" | cut -d. -f2)
case "$node_major" in
  22 | 24) ;;
  20) [ "$node_minor" -ge 19 ] || node_major= ;;
  *) node_major= ;;
esac
if [ -z "$node_major" ]; then
  echo "Footlight needs Node 24, 22 or 20 (20.19 or newer) with npm; this machine has ${node_version:-none}." >&2
  exit 1
fi
