# usage: ./course completion bash|zsh
# Prints code with which the shell completes commands, and the options and labs that their help shows. For one session:
# eval "$(./course completion bash)"; for all: ./course completion bash >>~/.bashrc
cmd_completion() {
  [[ ${1:-} == bash || ${1:-} == zsh ]] || die "for which shell? usage: ./course completion bash|zsh"
  local command help numbers labs=(labs/[0-9]*)
  labs=("${labs[@]#labs/}")
  [[ $1 == bash ]] || echo "autoload -U +X compinit bashcompinit && compinit && bashcompinit"
  echo "_course() {
  local words='--help' word=\${COMP_WORDS[COMP_CWORD]}
  case \$COMP_CWORD:\${COMP_WORDS[1]} in
    1:*) words='${commands[*]}' ;;"
  for command in "${commands[@]}"; do
    help=$(./course "$command" --help 2>/dev/null)
    case $help in *"lab number"* | *"NN "*ITEM* | *"[NN"*) numbers="${labs[*]%%_*}" ;; *) numbers="" ;; esac
    echo "    *:$command) words='$(grep -oE '(^ +(-h,)?|\[|course [a-z]+ )--[a-z][a-z-]+' <<<"$help" | grep -oE -- '--.*' | sort -u | tr '\n' ' ')$numbers' ;;"
  done
  echo "  esac
  COMPREPLY=(\$(compgen -W \"\$words\" -- \"\$word\"))
}
complete -o default -F _course ./course course"
}
