# Shows that a long step is still at work. Sourced by ./course.

# progress WHAT: reads the output of a program that should stay silent and prints "building grader [12/240] 34 s", with
# the step if the output is ninja's or apt-get's: on a terminal in one line that it overwrites, elsewhere as a line
# every 15 seconds.
progress() {
  local line step="" begun=$SECONDS next=$((SECONDS + 15)) status
  while :; do
    status=0
    IFS= read -r -t 1 line || status=$?
    if ((status == 0)); then
      [[ $line =~ ^\[[0-9/%\ ]+\]|^(Unpacking|"Setting up")\ [^\ :]+ ]] && step="${BASH_REMATCH[0]} "
    elif ((status <= 128)); then
      break
    fi
    if [[ -t 1 ]]; then
      printf '\r\033[K%.79s' "$1 $step$((SECONDS - begun)) s"
    elif ((SECONDS >= next)); then
      printf '%s %s%d s\n' "$1" "$step" $((SECONDS - begun))
      next=$((SECONDS + 15))
    fi
  done
  [[ ! -t 1 ]] || printf '\r\033[K'
}
