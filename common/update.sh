#!/usr/bin/env bash
# ./course update: installs a newer version of the course and keeps the student's work. Compares three states of each file:
# when the copy began or was last updated, now, and in the new version. A file that the student edited is
# never lost: hand-in files stay, others are replaced, and backups/update-TIME has a copy of every file that changes.
# A git clone gets one merge commit of exactly these files, whatever else is uncommitted; any other copy keeps its first
# state in backups/start.tar.gz, which ./course setup makes.
# usage: update.sh start | update.sh and the options of its help
set -euo pipefail
if [[ ${1:-} == --help ]]; then
  cat <<'TEXT'
usage: ./course update [--to VERSION] [--from FOLDER_OR_ARCHIVE_OR_GIT_URL]
       ./course update --undo
Takes a newer version of the course: handouts, hints, cases, tools. It says first what it will change. Your hand-in files,
progress.toml with your locked predictions, backups/ and files of your own stay. Where your work touches what changes, it
keeps a copy in backups/update-TIME and says what to do. Your changes may be committed or not.
Without --from, a git clone asks its remote `upstream`, otherwise `origin`; a copy from an archive needs --from. Without
--to, it takes what is newest there; --to 1.0.0+30a26d93 takes a commit between two versions. --undo goes back. Needs
no root, and with a folder or an archive no network.
TEXT
  exit
fi
caller=$PWD
cd "$(dirname "$(readlink -f "$0")")/.."

die() { printf 'course: %s\n' "$*" >&2; exit 2; }
version_in() { head -n 1 "$1/VERSION" 2>/dev/null | tr -d '\r' || true; }
version_name() { local v; v=$(version_in "$1"); echo "${v:-without a version}"; }
message="Update the course to"
git_() { git -c core.quotePath=false -c user.name="Roofline Labs" -c user.email=course@localhost "$@"; }

# Whether this copy is itself a git repository with a commit. A copy inside a student's repository is not.
is_clone() {
  [[ -e .git ]] || return 1
  command -v git >/dev/null || die "this is a git clone, but there is no git here; install it: apt-get install git"
  local why
  why=$(git rev-parse --git-dir 2>&1 >/dev/null) || die "git cannot read this clone: $why"
  git rev-parse -q --verify HEAD >/dev/null
}

# snapshot FOLDER FILE: the course in a folder, as an archive, without builds, progress and grade books. From this
# copy it takes only the known parts: everything else here is the student's.
snapshot() {
  local parts=(.)
  [[ $1 != . ]] || mapfile -t parts < <(find . -maxdepth 1 -type f -size -1024k -printf '%p\n'
                                        ls -d ./{autograder,common,labs,slides,solutions,.ci,.devcontainer,.github} 2>/dev/null)
  mkdir -p "$(dirname "$2")"
  (cd "$1" && find "${parts[@]}" \( -path ./.git -o -path './build*' -o -path ./backups \) -prune -o \( -type f -o -type l \) -print0 |
    tar -czf - --null --no-recursion --exclude=./{progress.toml,attempts.jsonl,class.toml,'*.sqlite'} -T -) >"$2.part"
  mv "$2.part" "$2"
}

# commit_of FOLDER [PARENT]: prints a commit of all its files, on no branch
commit_of() {
  local index tree folder
  index=$(mktemp -u)
  folder=$(git rev-parse --absolute-git-dir)
  (cd "$1" && GIT_INDEX_FILE=$index git -c core.autocrlf=false --git-dir="$folder" --work-tree=. add -A -f .)
  tree=$(GIT_INDEX_FILE=$index git write-tree)
  rm -f "$index"
  git_ commit-tree "$tree" ${2:+-p "$2"} -m "Roofline Labs $(version_name "$1")"
}

# Records the original files of a copy; ./course reset restores skeletons from this record.
remember_start() {
  local start
  if is_clone; then
    ! git rev-parse -q --verify refs/course/start >/dev/null || return 0
    # Ignore the student's own commits if this copy records its origin.
    if [[ -f backups/start.tar.gz ]]; then
      start=$(mktemp -d)
      tar -xzf backups/start.tar.gz -C "$start"
      git update-ref refs/course/start "$(commit_of "$start")"
      rm -rf "$start"
    else
      git update-ref refs/course/start "$(git merge-base HEAD refs/remotes/origin/HEAD 2>/dev/null || git rev-parse HEAD)"
    fi
  elif [[ ! -f backups/start.tar.gz ]]; then
    snapshot . backups/start.tar.gz
  fi
}

# paths_in FOLDER: the paths of all its files and symbolic links
paths_in() { (cd "$1" && find . \( -type f -o -type l \) -printf '%P\n'); }

# read_sums NAME FOLDER, paths on standard input: SHA-256 by path, for files that exist; for a link, its target
read_sums() {
  local -n sums=$1
  local sum path
  while read -r sum path; do
    [[ ! -L $2/$path ]] || sum=link:$(readlink "$2/$path")
    sums[$path]=$sum
  done < <(cd "$2" && tr '\n' '\0' | xargs -0 -r sha256sum 2>/dev/null)
}

# unedited PATH: whether some version of the course has this text; ignores line ends, which an editor may have changed
unedited() {
  local one
  for one in "${bases[@]}"; do
    [[ ! -f $one/$1 ]] || ! same_text "$1" "$one/$1" || return 0
  done
  return 1
}

same_text() { cmp -s <(tr -d '\r' <"$1") <(tr -d '\r' <"$2"); }

# put FROM TO: replaces a file by renaming, because this script and ./course are running
put() {
  [[ $2 != */* || -d ${2%/*} ]] || mkdir -p "${2%/*}"
  cp -d --preserve=mode "$1" "$2.new~"  # with the current time; otherwise builds of the old file would seem up to date
  mv -T "$2.new~" "$2"
}

# make_program PATH: makes a file executable if it begins with #!
make_program() {
  local first=""
  [[ -L $1 || -x $1 ]] || LC_ALL=C read -r -N 2 first <"$1" 2>/dev/null || true
  [[ $first != '#!' ]] || chmod +x "$1"
}

# keep_copy PATH FOLDER
keep_copy() {
  local to=$2/$1
  [[ -d ${to%/*} ]] || mkdir -p "${to%/*}"
  cp -dp "$1" "$to"
}

# --- where the new version comes from ---------------------------------------------------------------------------------

# root_of FOLDER: the course's folder in an unpacked archive; nothing if it is not the course.
root_of() {
  local place
  for place in "$1" "$1"/*/; do
    place=${place%/}
    [[ -f $place/course && -f $place/labs/CMakeLists.txt && -f $place/autograder/CMakeLists.txt ]] && { echo "$place"; return; }
  done
  return 0
}

# fetch_commit SOURCE [VERSION]: prints the commit; SOURCE is a remote, a URL or a folder. A version may name its commit: 1.0.0+30a26d93.
fetch_commit() {
  local said what=HEAD
  if [[ -n ${2:-} && $2 != *+* ]]; then what=refs/tags/v$2; fi
  [[ -t 0 ]] || export GIT_TERMINAL_PROMPT=0
  # Git's maintenance may continue in the background: it must not hold the lock.
  [[ ! -t 2 ]] || printf '\0337fetching from %.60s\0338' "$1" >&2
  if ! said=$(git fetch -q --no-tags "$1" "$what" 2>&1 9>&-); then
    if [[ $what != HEAD && $said == *"couldn't find remote ref"* ]]; then
      die "there is no version $2 at $1; it has: $(git ls-remote --tags --refs "$1" 'v*' | sed 's|.*/v||' | sort -V | paste -sd ' ')"
    fi
    die "cannot get the new version from $1: $(grep -m 1 -iE 'fatal|error' <<<"$said" || echo "$said")
Without a network, ask for an archive of the course: ./course update --from FILE"
  fi
  [[ ! -t 2 ]] || printf '\033[K' >&2
  what=FETCH_HEAD
  if [[ ${2:-} == *+* ]]; then what=${2#*+}; fi
  git rev-parse -q --verify "$what^{commit}" || die "there is no commit ${what} at $1"
}

# Sets `new`, a folder, and `commit` where the new version is a git commit.
get_new() {
  local from=$1 to=$2
  local unpacked=$work/unpacked
  new=$work/new commit=""
  mkdir "$new" "$unpacked"
  if [[ -z $from ]]; then
    is_clone || die "where is the new version? This copy is not a git clone, so name it: ./course update --from FOLDER_OR_ARCHIVE_OR_GIT_URL"
    from=$(git remote | grep -x -e upstream || git remote | grep -x -e origin || true)
    [[ -n $from ]] || die "where is the new version? This clone has no remote, so name it: ./course update --from FOLDER_OR_ARCHIVE_OR_GIT_URL"
  elif [[ $from != *:* ]]; then
    from=$(cd "$caller" && realpath -m -- "$1")
    [[ -e $from ]] || die "there is no $from"
  fi
  source_name=$from
  if [[ $to == *+* && $from != *:* && -e $from && ! -e $from/.git && ! -f $from/HEAD ]]; then
    die "$from is not a git repository, so it has no commits: write --to ${to%%+*}, or omit it"
  elif [[ $from =~ ^https?://.*\.(zip|tgz|tar\.[a-z0-9]+)$ ]]; then
    die "download $from first, then: ./course update --from FILE"
  elif [[ -f $from ]]; then
    local unpack=(tar -xf)
    [[ $from != *.[zZ][iI][pP] ]] || unpack=(cmake -E tar xf)
    (cd "$unpacked" && "${unpack[@]}" "$from") >"$work/log" 2>&1 || die "cannot unpack $from: $(head -n 1 "$work/log")"
  elif [[ -d $from && ! -e $from/.git && ! -f $from/HEAD ]]; then
    unpacked=$from
  else
    command -v git >/dev/null || die "there is no git here to read $from; install it, or take an archive of the course"
    if is_clone; then
      commit=$(fetch_commit "$from" "$to")
      git -c core.autocrlf=false archive "$commit" | tar -x -C "$unpacked"
    else
      git init -q "$work/git"
      (cd "$work/git" && c=$(fetch_commit "$from" "$to") && git -c core.autocrlf=false archive "$c") >"$work/new.tar" || exit 2
      tar -xf "$work/new.tar" -C "$unpacked"
    fi
  fi
  unpacked=$(root_of "$unpacked")
  [[ -n $unpacked ]] || die "$source_name is not the course: it has no labs/ and autograder/"
  snapshot "$unpacked" "$work/new.tar.gz"  # leaves out other files, if this is a folder in use
  tar -xzf "$work/new.tar.gz" -C "$new"
  [[ -f $new/VERSION ]] || die "$source_name has no file VERSION, so it is older than updates are; use a version from 1.0.0 on"
  [[ $(version_in "$new") =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]] || die "$source_name/VERSION has no version such as 1.2.0"
  [[ -z $to || $(version_in "$new") == "${to%%+*}" ]] || die "$source_name is version $(version_in "$new"), not $to"
}

# Sets `base`, the folder of files from when this copy began or was last updated, and `base_commit` in a clone; `bases` are all
# candidates: a student may have pulled since, or undone an update and kept committing.
get_base() {
  base=$work/base base_commit=""
  mkdir "$base"
  bases=("$base")
  if is_clone; then
    local known
    base_commit=$(git rev-parse refs/course/start)
    for known in "$base_commit" $([[ -z $commit ]] || git merge-base HEAD "$commit") $(git merge-base HEAD refs/remotes/origin/HEAD 2>/dev/null); do
      ! git merge-base --is-ancestor "$base_commit" "$known" || base_commit=$known
      [[ ! -d $work/$known ]] || continue
      bases+=("$work/$known")
      mkdir "$work/$known"
      git -c core.autocrlf=false archive "$known" | tar -x -C "$work/$known"
    done
    git -c core.autocrlf=false archive "$base_commit" | tar -x -C "$base"
  elif [[ -f backups/start.tar.gz ]]; then
    tar -xzf backups/start.tar.gz -C "$base" || die "backups/start.tar.gz is damaged; remove it, and every file that the update changes is kept in backups/"
  else
    echo "This copy has no record of its original files, so each file that differs from the new version counts as yours."
  fi
}

# --- what changes -----------------------------------------------------------------------------------------------------

is_handin() { [[ $1 == labs/*/handin/* ]]; }

# Sets put_in, take_out (paths), advice (lines), mine (paths to keep a copy of) and shown (paths of old and new skeletons).
plan() {
  declare -gA was=() is=() will=() begun=() contract=()
  declare -ga put_in=() take_out=() advice=() mine=() shown=()
  { paths_in "$base"; paths_in "$new"; } | sort -u >"$work/paths"
  read_sums was "$base" <"$work/paths"
  read_sums is . <"$work/paths"
  read_sums will "$new" <"$work/paths"
  local path top lab now next first edited before
  local -A parts=()
  for top in .[!.]* *; do parts[$top]=1; done
  while IFS= read -r path; do
    now=${is[$path]:-} next=${will[$path]:-} first=${was[$path]:-} top=${path%%/*} lab=${path#labs/} lab=${lab%%/*}
    [[ $path == labs/*/* ]] || lab=""
    edited=""
    [[ -z $now || $now == "$first" ]] || unedited "$path" || edited=1
    if is_handin "$path" && [[ -n $edited ]]; then begun[$lab]+=" $path"; fi
    [[ $now != "$next" ]] || continue
    # Do not add solutions, slides or other parts that this copy lacks.
    [[ -n ${parts[$top]:-} ]] || { [[ $top != solutions && $top != slides ]] && ! compgen -G "$base/$top" >/dev/null; } || continue
    if [[ -z $now ]]; then
      put_in+=("$path")
      if is_handin "$path" && [[ -n $first ]]; then
        advice+=("$path is missing here; its skeleton comes back. Did you rename it? Only files with their original names are graded.")
      elif is_handin "$path" && compgen -G "$base/labs/$lab" >/dev/null; then
        advice+=("$path is a new hand-in file: fill it in.")
      fi
    elif [[ -z $edited ]]; then
      if [[ -n $next ]]; then put_in+=("$path"); else take_out+=("$path"); fi
      ! is_handin "$path" || advice+=("$path: you have not edited it, and the update changes it.")
    elif is_handin "$path"; then
      [[ $next != "$first" ]] || continue
      mine+=("$path")
      if [[ -z $next ]]; then
        advice+=("$path is no longer handed in; yours stays, and nothing reads it.")
      else
        shown+=("$path")
        before=$backup/old/$path
        [[ -n $first ]] || before=$path
        advice+=("$path: its skeleton changed, and yours stays. See what changed, and make the same change in yours:
      diff -u '$before' '$backup/new/$path'")
      fi
    elif [[ $next != "$first" ]]; then
      mine+=("$path")
      if [[ -n $next ]]; then put_in+=("$path"); else take_out+=("$path"); fi
      ((${#was[@]} == 0)) || advice+=("$path: you changed it, and so does the update. Yours is kept as $backup/files/$path")
    fi
    # The contract, and the code that a student's files call.
    if [[ -n $lab && $path =~ ^labs/[^/]*/([^/]*\.hpp|given/.*)$ && -n $first && (-z $edited || $next != "$first") ]]; then contract[$lab]+=" $path"; fi
  done <"$work/paths"
  for lab in "${!contract[@]}"; do
    [[ -n ${begun[$lab]:-} ]] || continue
    for path in ${contract[$lab]}; do shown+=("$path"); done
    for path in ${begun[$lab]}; do mine+=("$path"); done
    advice+=("labs/$lab: what your files include changed:${contract[$lab]//labs\/$lab\//}. Your files stay as they are; run ./course lab ${lab%%_*}, and see what changed:
      diff -ru '$backup/old/labs/$lab' '$backup/new/labs/$lab'")
  done
}

show_plan() {
  local path part
  local -A count=()
  for path in "${put_in[@]}" "${take_out[@]}"; do
    part=$path
    [[ $path != */* ]] || part=${path%%/*}
    if [[ $path == labs/[0-9]*/* ]]; then part=${path#labs/} part=labs/${part%%/*}; fi
    count[$part]=$((${count[$part]:-0} + 1))
  done
  echo "Roofline Labs $(version_name .) -> $target, from $source_name"
  echo "changes ${#put_in[@]} files, removes ${#take_out[@]}:"
  for part in "${!count[@]}"; do
    if [[ $part == labs/* && ! -d $part ]]; then echo "  $part: a new lab"; else echo "  $part: ${count[$part]}"; fi
  done | sort
  local kept=0
  for part in "${!begun[@]}"; do
    for path in ${begun[$part]}; do kept=$((kept + 1)); done
  done
  echo "keeps $kept hand-in files that you edited, progress.toml with your locked predictions, backups/ and every file of your own"
  ((${#advice[@]} == 0)) || { echo "please check:"; printf '  - %s\n' "${advice[@]}"; }
}

# --- changing it ------------------------------------------------------------------------------------------------------

# commit_paths MESSAGE PARENT... -- PATH...: commits these files as they are now, all others as in HEAD. Other staged changes
# stay staged.
commit_paths() {
  local message=$1 parents=() tree path
  shift
  while [[ $1 != -- ]]; do parents+=(-p "$1"); shift; done
  shift
  export GIT_INDEX_FILE=$work/index
  git read-tree HEAD
  printf '%s\0' "$@" | git -c core.autocrlf=false update-index --add --remove -z --stdin
  tree=$(git write-tree)
  unset GIT_INDEX_FILE
  move_head "$message" "$(git_ commit-tree "$tree" "${parents[@]}" -m "$message")" "$@"
}

# move_head MESSAGE COMMIT PATH...: moves the branch to the commit, and updates the index for these paths
move_head() {
  git_ update-ref -m "course: $1" HEAD "$2"
  shift 2
  printf '%s\0' "$@" | GIT_LITERAL_PATHSPECS=1 git reset -q --pathspec-from-file=- --pathspec-file-nul
}

apply() {
  local path
  # Write the whole record before anything changes, so that --undo works at any moment.
  local record=backups/part-$$
  rm -rf "$record"
  mkdir -p "$record/files"
  touch "$record"/{added,put_in,unfinished}
  for path in "${put_in[@]}" "${take_out[@]}" "${mine[@]}"; do
    if [[ -e $path || -L $path ]]; then keep_copy "$path" "$record/files"; else echo "$path" >>"$record/added"; fi
  done
  for path in "${shown[@]}"; do
    [[ ! -f $base/$path ]] || (cd "$base" && keep_copy "$path" "$root/$record/old")
    [[ ! -f $new/$path ]] || (cd "$new" && keep_copy "$path" "$root/$record/new")
  done
  for path in "${put_in[@]}"; do printf '%s  %s\n' "${will[$path]}" "$path"; done >"$record/put_in"
  for path in progress.toml backups/start.tar.gz; do [[ ! -f $path ]] || cp -p "$path" "$record"; done
  if is_clone; then
    git rev-parse HEAD >"$record/head"
    git rev-parse refs/course/start >"$record/start"
  fi
  show_plan >"$record/plan.txt"
  mv "$record" "$backup"

  for path in "${put_in[@]}"; do
    put "$new/$path" "$path"
    [[ -n $commit ]] || make_program "$path"  # git records which files are executable; an archive may not
  done
  for path in "${take_out[@]}"; do rm -f "$path"; rmdir -p --ignore-fail-on-non-empty "$(dirname "$path")" 2>/dev/null || true; done
  if is_clone; then
    commit=${commit:-$(commit_of "$new" "$base_commit")}
    commit_paths "$message $(version_in "$new")" HEAD "$commit" -- "${put_in[@]}" "${take_out[@]}"
    git update-ref refs/course/start "$commit"
  else
    snapshot "$new" backups/start.tar.gz
  fi
  rm -f build/bin/grader "$backup/unfinished"  # the next command builds what changed
}

undo() {
  local last path sum record
  last=$(find backups -maxdepth 1 -type d -name 'update-*' 2>/dev/null | sort | tail -n 1)
  [[ -n $last ]] || die "there is no update to undo: backups/ has none"
  record=${last/update-/undone-}  # its name once the undo is complete
  local changed=()
  local -A put_in=()
  while read -r sum path; do put_in[$path]=$sum; done <"$last/put_in"
  # differs PATH: whether the student edited it after the update
  differs() { [[ -f $1 && ! -L $1 && -n ${put_in[$1]:-} && $(sha256sum <"$1") != "${put_in[$1]} "* ]] && ! cmp -s "$1" "$last/files/$1"; }
  while IFS= read -r path; do
    [[ -e $path || -L $path ]] || continue
    if differs "$path"; then keep_copy "$path" "$last/since"; echo "$path: you edited it after the update; it is kept as $record/since/$path"; fi
    rm -f "$path"
    rmdir -p --ignore-fail-on-non-empty "$(dirname "$path")" 2>/dev/null || true
    changed+=("$path")
  done <"$last/added"
  while IFS= read -r path; do
    [[ -n ${put_in[$path]:-} || ! -e $path ]] || continue  # only a copy was kept; the file itself is unchanged
    if differs "$path"; then
      if is_handin "$path"; then echo "$path: you edited it after the update, so it stays; the earlier one is $record/files/$path"; continue; fi
      keep_copy "$path" "$last/since"
      echo "$path: you edited it after the update; that is kept as $record/since/$path"
    fi
    put "$last/files/$path" "$path"
    changed+=("$path")
  done < <(cd "$last/files" && find . \( -type f -o -type l \) -printf '%P\n')
  if is_clone && [[ -f $last/head ]]; then
    # The student's commits after the update stay; without any, the branch returns to its earlier commit.
    local head
    head=$(cat "$last/head")
    if [[ $(git rev-parse HEAD) == "$head" ||
          $(git rev-parse -q --verify HEAD^) == "$head" && $(git log -1 --format=%s) == "$message "* ]]; then
      move_head "undo the update" "$head" "${changed[@]}"
    else
      commit_paths "Undo the update of the course" HEAD -- "${changed[@]}"
    fi
    git update-ref refs/course/start "$(cat "$last/start")"
  fi
  [[ ! -f $last/start.tar.gz ]] || cp -p "$last/start.tar.gz" backups/start.tar.gz
  rm -f build/bin/grader "$last/unfinished"
  mv -T "$last" "$record"
  echo "Roofline Labs $(version_name .) is back; the record of the update is in $record"
}

# Another build or update would see a half-finished one.
alone() {
  exec 9>"$work_lock"
  flock -n 9 || die "something builds or updates in this copy right now, such as ./course watch; stop it and try again"
}

main() {
  local from="" to="" back=""
  while (($#)); do
    case $1 in
      --from | --to) [[ -n ${2:-} ]] || die "$1 needs a value"; declare "${1#--}=$2"; shift ;;
      --undo) back=yes ;;
      *) die "./course update does not know '$1'; see ./course update --help" ;;
    esac
    shift
  done
  root=$PWD
  # After an undo and another update within a second, both records would have the same name.
  while backup=backups/update-$(date -u +%Y-%m-%dT%H-%M-%S); [[ -e $backup || -e ${backup/update-/undone-} ]]; do sleep 0.1; done
  [[ -w . ]] || die "cannot write in $PWD; who owns this copy?"
  work=$(mktemp -d)
  trap 'rm -rf "$work"; [[ ! -e $backup/unfinished ]] || echo "course: the update did not finish; go back with ./course update --undo" >&2' EXIT
  mkdir -p backups
  work_lock=$([[ -d build ]] && echo build/building.lock || echo backups/update.lock)
  alone
  if is_clone; then
    local state
    for state in MERGE_HEAD rebase-merge rebase-apply CHERRY_PICK_HEAD REVERT_HEAD; do
      [[ ! -e $(git rev-parse --git-path $state) ]] ||
        die "a merge, rebase, cherry-pick or revert is half done here; finish it, or go back: git merge --abort (or git rebase --abort); then try again"
    done
    [[ -z $(git ls-files -u) ]] || die "files have merge conflicts: $(git diff --name-only --diff-filter=U | paste -sd ' '); resolve them and commit, then try again"
  fi
  if [[ -n $back ]]; then
    [[ -z $from$to ]] || die "--undo takes no other option"
    undo
    return
  fi
  ! compgen -G 'backups/update-*/unfinished' >/dev/null || die "an update was interrupted; first run ./course update --undo"
  local source_name new commit base base_commit bases target
  get_new "$from" "$to"
  if [[ -z $to && -f VERSION && $(version_in .) != "$(version_in "$new")" &&
        $(printf '%s\n' "$(version_in .)" "$(version_in "$new")" | sort -V | tail -n 1) == "$(version_in .)" ]]; then
    die "$source_name is version $(version_in "$new"), older than this one, $(version_in .); to take it anyway, add --to $(version_in "$new")"
  fi
  # Between two releases the version number stays the same, so the commit tells two copies apart.
  target=$(version_in "$new")
  [[ -z $commit || $(version_in .) != "$target" ]] || target+=+${commit:0:8}
  ! is_clone || remember_start
  get_base
  plan
  if ((${#put_in[@]} + ${#take_out[@]} + ${#mine[@]} == 0)); then
    echo "Nothing to update: this is Roofline Labs $(version_name .), as $source_name has it"
    return
  fi
  show_plan
  if [[ -t 0 && -t 1 ]]; then
    local answer
    read -rp "Update? Nothing has changed yet. [Y/n] " answer
    [[ ! $answer =~ ^[nN] ]] || { echo "nothing changed"; return; }
  fi
  apply
  echo "Updated to Roofline Labs $target. What is new: CHANGELOG.md. Kept copies and this list: $backup. To go back: ./course update --undo"
}

if [[ ${1:-} == start ]]; then remember_start; else main "$@"; fi
