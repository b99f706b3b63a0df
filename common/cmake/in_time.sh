#!/usr/bin/env bash
# in_time.sh SECONDS COMMAND...: runs a long test. Where $TESTS_END is set (seconds since 1970, as by .ci/run) and the
# test, which may take SECONDS, might end later, it is skipped (exit code 77) and says so.
set -euo pipefail
seconds=$1
shift
if [[ -n ${TESTS_END:-} ]] && (($(date +%s) + seconds > TESTS_END)); then
  echo "SKIPPED: it may take $seconds s, and the tests must end before that"
  exit 77
fi
exec "$@"
