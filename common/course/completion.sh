# ./course completion, which reads this file: the Tab key completes commands, and of each command the options that its help shows.
# Completes what the help shows: the options of each command, then labs and files.
cmd_completion() {
  [[ ${1:-} == bash || ${1:-} == zsh ]] || die "for which shell? usage: ./course completion bash|zsh"
  local command
  [[ $1 == bash ]] || echo "autoload -U +X compinit bashcompinit && compinit && bashcompinit"
  echo "_course() {
  local words='--help' word=\${COMP_WORDS[COMP_CWORD]}
  case \$COMP_CWORD:\${COMP_WORDS[1]} in
    1:*) words='${commands[*]}' ;;"
  for command in "${commands[@]}"; do
    echo "    *:$command) words='$(./course "$command" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]+' | sort -u | tr '\n' ' ')' ;;"
  done
  echo "  esac
  COMPREPLY=(\$(compgen -W \"\$words\" -- \"\$word\"))
}
complete -o default -F _course ./course course"
}
