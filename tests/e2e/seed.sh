# shellcheck shell=bash
# Waiting for what kubectl prints, for the walk-throughs (*_seed.sh), which source this file and define fail MESSAGE.
limit=${SEED_LIMIT:-60} # seconds, for each: a shared machine is slow

say() { printf '\n== %s\n' "$*"; }
# becomes EXPECTED COMMAND...: waits until the command's output is EXPECTED.
becomes() {
  local expected=$1 seen= end=$((SECONDS + limit))
  shift
  while :; do
    seen=$("$@" 2>&1) || true
    [ "$seen" = "$expected" ] && return 0
    [ $SECONDS -lt $end ] || fail "$* says \"$seen\", not \"$expected\", after $limit s"
    sleep 0.1
  done
}
# contains PART COMMAND...: waits until the command's output contains PART.
contains() {
  local part=$1 seen= end=$((SECONDS + limit))
  shift
  while :; do
    seen=$("$@" 2>&1) || true
    [[ $seen == *"$part"* ]] && return 0
    [ $SECONDS -lt $end ] || fail "$* says \"$seen\", which has no \"$part\", after $limit s"
    sleep 0.1
  done
}
