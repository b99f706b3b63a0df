#!/usr/bin/env bash
# in_time.sh SECONDS COMMAND...: runs a long test. If the test, which may take SECONDS, might end after $TESTS_END
# (seconds since 1970, set by .ci/run), it is skipped and counts as failed, so that the results so far are kept.
set -euo pipefail
seconds=$1
shift
if [[ -n ${TESTS_END:-} ]] && (($(date +%s) + seconds > TESTS_END)); then
  echo "LEFT OUT: it may take $seconds s, and the tests must end before that"
  exit 1
fi
exec "$@"
