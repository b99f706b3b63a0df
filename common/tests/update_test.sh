#!/usr/bin/env bash
# ./course update over half-done labs: clones and unpacked archives, committed or not, on a branch of the student's own, with
# renamed, edited and CRLF files, in a folder with spaces; undo; and every refusal. Uses a small course of two labs in
# two versions, made from the real one. usage: update_test.sh SOURCE
set -Eeuo pipefail
source=$1
command -v git >/dev/null || { echo "SKIPPED: no git here; apt-get install git"; exit 77; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'echo "$kind: line $LINENO: $BASH_COMMAND"' ERR
export HOME=$place GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=ann GIT_AUTHOR_EMAIL=ann@localhost GIT_COMMITTER_NAME=ann GIT_COMMITTER_EMAIL=ann@localhost
unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE
git config --global init.defaultBranch main
git config --global protocol.file.allow always
git config --global gc.auto 0  # no background process may use this folder when it is deleted
fail() { echo "$kind: $*"; cat "$place/log"; exit 1; }
kind=setup
touch "$place/log"

# --- the two versions -------------------------------------------------------------------------------------------------
old=$place/versions/old new=$place/versions/new
mkdir -p "$old"/{autograder,common/course,labs,solutions} "$place/origin"
cp "$source"/{course,README.md,CMakeLists.txt,CMakePresets.json,.gitignore} "$old"
cp "$source/autograder/CMakeLists.txt" "$old/autograder"
cp "$source/labs/CMakeLists.txt" "$source/labs/hints.toml" "$old/labs"
cp "$source/common/update.sh" "$old/common"
cp "$source/common/course/progress.sh" "$old/common/course"
cp -r "$source"/labs/{03_coalescing,04_fusion} "$old/labs"
echo tool >"$old/common/obsolete.cpp"
echo '#!/usr/bin/env python3' >"$old/common/plot.py"  # git records it as not executable
ln -s hints.toml "$old/labs/link.toml"
echo 1.0.0 >"$old/VERSION"
cp -r "$old" "$new"
cd "$new"
echo 1.1.0 >VERSION
echo 'One more sentence.' | tee -a README.md labs/03_coalescing/README.md labs/hints.toml >/dev/null
echo '// a new promise' >>labs/03_coalescing/coalescing.hpp
printf '[later]\nnew_key = nan\n' >>labs/03_coalescing/handin/predictions.toml
echo '// TODO(lab03.more)' | tee -a labs/03_coalescing/handin/column_sums.cpp >labs/03_coalescing/handin/more.cpp
echo '# more' >>labs/04_fusion/handin/predictions.toml
cp -r labs/04_fusion labs/12_paged
mkdir labs/drawings
echo '<svg/>' >labs/drawings/course.svg
echo >>common/update.sh '# the newer one'
echo 'print()' >>common/plot.py
rm -r common/obsolete.cpp labs/link.toml
ln -s CMakeLists.txt labs/link.toml
mkdir solutions/03_coalescing
echo secret >solutions/03_coalescing/WORKLOG.md

cd "$place/origin"
git init -q .
cp -r "$old/." .
git add -A && git commit -qm 'Version 1.0.0' && git tag v1.0.0
git rm -rq . && cp -r "$new/." .
git add -A && git commit -qm 'Version 1.1.0' && git tag v1.1.0
# From a folder in use, files that are not the course's are not copied.
mkdir "$new/build"
echo theirs | tee "$new"/{progress.toml,attempts.jsonl,build/junk} >/dev/null
mkdir "$place/archives"
cp -r "$new" "$place/archives/roofline-labs-1.1.0"
cp -r "$place/origin/.git" "$place/archives/roofline-labs-1.1.0"
(cd "$place/archives" && tar -czf new.tar.gz roofline-labs-1.1.0 && cd roofline-labs-1.1.0 && cmake -E tar cf ../new.zip --format=zip -- *)

# --- a student's half-done labs ---------------------------------------------------------------------------------------
handin=labs/03_coalescing/handin
half_done() {  # run in the copy
  echo '// my transpose' >>$handin/transpose.cu
  sed -i 's/= nan/= 4/' $handin/predictions.toml
  sed -i 's/$/\r/' $handin/column_sums.cpp   # an editor changed only the line endings
  mv labs/04_fusion/handin/predictions.toml labs/04_fusion/handin/my_predictions.toml
  echo 'My notes.' >>README.md
  echo mine >labs/03_coalescing/notes.txt
  echo '// tried' >>labs/03_coalescing/given/patterns.cu  # the update does not change this file
  mkdir -p backups/03_coalescing-2026-11-01 'my experiments'
  echo older >backups/03_coalescing-2026-11-01/transpose.cu
  echo 'int main() {}' >'my experiments/a b.cu'
  echo '{"lab": "03_coalescing"}' >attempts.jsonl
  printf 'format = 1\n\n[03_coalescing]\nlocked = "2026-11-01T10:00:00Z"\n' >progress.toml
}
mine() { [[ ! -e build/junk ]] || fail "the other folder's build was copied"; sha256sum attempts.jsonl $handin/transpose.cu $handin/predictions.toml labs/03_coalescing/notes.txt labs/04_fusion/handin/my_predictions.toml \
  backups/03_coalescing-2026-11-01/transpose.cu 'my experiments/a b.cu' progress.toml; }
everything() { find . \( -path ./.git -o -path './backups/u*' -o -path './backups/*lock' -o -path ./backups/start.tar.gz \) -prune -o \( -type f -o -type l \) -print0 | sort -z | xargs -0 sha256sum; }
course() { ./course update "$@" >"$place/log" 2>&1 </dev/null; }
says() { grep -qF -- "$1" "$place/log" || fail "does not say: $1"; }

updated() {
  [[ $(./course --version) == 'Roofline Labs 1.1.0' ]] || fail "the version is $(./course --version)"
  local file
  for file in README.md labs/03_coalescing/{README.md,coalescing.hpp} $handin/{more,column_sums}.cpp labs/12_paged/README.md \
    labs/04_fusion/handin/predictions.toml labs/hints.toml labs/link.toml common/update.sh; do
    cmp -s "$new/$file" "$file" || fail "$file is not the new one"
  done
  [[ -x common/update.sh && -x course ]] || fail "a program is no longer executable"
  [[ ! -e common/obsolete.cpp ]] || fail "obsolete.cpp is still there"
  [[ ! -e solutions/03_coalescing ]] || [[ $kind != *'without solutions'* ]] || fail "solutions came along"
  local kept=(backups/update-*)
  ((${#kept[@]} == 1)) || fail "${#kept[@]} records"
  tail -n 1 "${kept[0]}/files/README.md" | grep -q 'My notes.' || fail "the student's README is lost"
  cmp -s "${kept[0]}/files/$handin/transpose.cu" $handin/transpose.cu || fail "no copy of transpose.cu, whose contract changed"
  says "$handin/predictions.toml: its skeleton changed, and yours stays"
  says "$handin/more.cpp is a new hand-in file: fill it in"
  says "labs/03_coalescing: what your files include changed: coalescing.hpp. Your files stay"
  says "labs/04_fusion/handin/predictions.toml is missing here"
  says "README.md: you changed it, and so does the update"
  says "labs/12_paged: a new lab"
  ! grep -qF 'labs/drawings: a new lab' "$place/log" || fail "takes a folder of drawings for a lab"
  says "keeps 2 hand-in files that you edited"
  # The command that it suggests shows the new line.
  (bash -c "$(grep -m 1 '^ *diff -u ' "$place/log")" || true) | grep -q '^+new_key = nan' || fail "the suggested diff lacks the new key"
}

half() {  # half KIND: the student's copy, updated once and undone
  local before own
  half_done
  [[ $kind != *committed* ]] || { git init -q . && git add -A && git commit -qm 'My work'; }
  [[ $kind != *staged* ]] || git add $handin/transpose.cu
  own=$(mine) before=$(everything)
  [[ ! -e .git ]] || { status=$(git status --porcelain) head=$(git rev-parse HEAD); }
  touch -d '1 hour ago' built
  course "${options[@]}" || fail "the update ended with $?"
  [[ $(mine) == "$own" ]] || fail "a student's file changed: $(diff <(mine) <(echo "$own"))"
  updated
  [[ README.md -nt built ]] || fail "builds of older files would seem up to date"
  rm built
  if [[ -e .git ]]; then
    git diff-index --quiet --cached HEAD -- . ":!$handin/transpose.cu" || fail "something is staged: $(git diff --cached --stat)"
    [[ $(git rev-parse HEAD^) == "$head" ]] || fail "the update is not one commit on the branch"
    [[ -z $(git diff --name-only HEAD -- course common labs/03_coalescing/README.md VERSION) ]] || fail "the update is not committed"
    git show HEAD:$handin/transpose.cu | grep -q 'my transpose' && [[ $kind != *' committed'* ]] && fail "the student's change was committed for them"
    [[ $(git log -1 --format=%an) == ann || $(git log -1 --format=%an) == 'Roofline Labs' ]] || fail "who made the commit?"
  fi
  course "${options[@]}" || fail "the second update ended with $?"
  says "Nothing to update"
  course --undo || fail "--undo ended with $?"
  [[ $(everything) == "$before" ]] || fail "undo left: $(diff <(everything) <(echo "$before"))"
  if [[ -e .git ]]; then
    [[ $(git rev-parse HEAD) == "$head" ]] || fail "undo ended at another commit"
    [[ $(git status --porcelain) == "$status" ]] || fail "undo left: $(diff <(git status --porcelain) <(echo "$status"))"
  fi
  # Again, and the student continues to work before undoing it.
  [[ $kind != *staged* && $kind != *zip* && $kind != *tar* && $kind != *'git' ]] || return 0
  # Another update may have been undone within the same second, or a little later on a slow machine.
  [[ $kind != clone ]] || for later in 0 1 2; do mkdir -p "$(date -ud "+$later seconds" +backups/undone-%Y-%m-%dT%H-%M-%S)"; done
  course "${options[@]}" || fail "the update after undo ended with $?"
  updated
  echo '// done' >>$handin/more.cpp
  echo '// done' >>$handin/column_sums.cpp
  [[ $kind != *committed* ]] || { git add -A && git commit -qm 'More work'; }
  course --undo || fail "the second --undo ended with $?"
  [[ $(mine) == "$own" ]] || fail "undo changed a file of the student"
  [[ $(./course --version) == 'Roofline Labs 1.0.0' ]] || fail "undo did not go back"
  tail -n 1 $handin/column_sums.cpp | grep -q done || fail "undo overwrote later work"
  says "$handin/column_sums.cpp: you edited it after the update, so it stays"
  [[ -f $(sed -n "s|^$handin/column_sums.cpp: .* the earlier one is ||p" "$place/log") ]] || fail "names a copy that is not there"
  grep -q done backups/undone-*/since/$handin/more.cpp || fail "later work in a file that the update brought is lost"
  [[ ! -e .git || $kind != *committed* || $(git log -1 --format=%s) == 'Undo the update of the course' ]] || fail "undo rewrote the student's commits"
  course "${options[@]}" || fail "the update after that ended with $?"
  [[ $(./course --version) == *1.1.0 && $(mine) == "$own" ]] && cmp -s "$new/labs/hints.toml" labs/hints.toml || fail "no update after undo"
  course --undo || fail "the third --undo ended with $?"
  ! course --undo || fail "one more --undo found something"
  says "there is no update to undo"
}

for kind in 'clone' 'clone, committed on a branch' 'clone, staged' 'clone with an archive, committed' 'clone, committed before the first command'; do
  copy="$place/copies/$kind of the labs"
  git clone -q "$place/origin" "$copy"
  cd "$copy"
  git reset -q --hard v1.0.0
  [[ $kind == *before* ]] || common/update.sh start
  [[ $kind != *branch ]] || git switch -qc my/own
  options=()
  [[ $kind != *archive* ]] || options=(--from "$place/archives/new.tar.gz")
  half
done
for kind in 'archive and folder' 'archive and tar' 'archive and zip' 'archive and git' 'archive without solutions' 'archive, committed to a repository of their own'; do
  copy="$place/copies/$kind of the labs"
  cp -r "$old" "$copy"
  cd "$copy"
  [[ $kind != *solutions ]] || rm -r solutions
  common/update.sh start
  case $kind in
    *tar) options=(--from ../../archives/new.tar.gz) ;;
    *zip) options=(--from ../../archives/new.zip) ;;
    *git) options=(--from "$place/origin") ;;
    *) options=(--from "$new") ;;
  esac
  half
done

# Without a record, every file counts as edited by the student.
kind='archive without a record'
cp -r "$old" "$place/copies/unknown"
cd "$place/copies/unknown"
half_done
own=$(mine)
course --from "$new" || fail "ended with $?"
says "no record of its original files"
[[ $(mine) == "$own" && $(./course --version) == *1.1.0 ]] || fail "a student's file changed, or no file of the course did"
cmp -s "$old/labs/hints.toml" backups/update-*/files/labs/hints.toml || fail "a file was replaced without a copy"

# A student who pulled by hand, and one whose update was killed.
kind='clone, pulled'
git clone -q "$place/origin" "$place/copies/pulled"
cd "$place/copies/pulled"
git reset -q --hard v1.0.0
common/update.sh start
echo '// mine' >>$handin/transpose.cu
git pull -q --ff-only
course || fail "ended with $?"
says "Nothing to update: this is Roofline Labs 1.1.0"
course --to 1.0.0 || fail "--to an older version ended with $?"
[[ $(./course --version) == *1.0.0 ]] && tail -n 1 $handin/transpose.cu | grep -q mine || fail "--to 1.0.0 did not go there"
course --undo || fail "--undo of that ended with $?"
# A class may be pinned to a commit between two versions; the version number stays.
cd "$place/origin"
echo 'Between versions.' >>labs/hints.toml
git commit -qam 'Between versions'
between=1.1.0+$(git rev-parse --short=8 HEAD)
echo 'Later.' >>labs/hints.toml
git commit -qam 'Later'
cd "$place/copies/pulled"
course --to "$between" || fail "--to a commit ended with $?"
[[ $(tail -n 1 labs/hints.toml) == 'Between versions.' ]] || fail "--to a commit went elsewhere"
tail -n 1 $handin/transpose.cu | grep -q mine || fail "--to a commit lost the student's work"
course || fail "an update after that ended with $?"
says "Roofline Labs 1.1.0 -> 1.1.0+$(git -C "$place/origin" rev-parse --short=8 HEAD), from origin"
[[ $(tail -n 1 labs/hints.toml) == 'Later.' ]] || fail "no update after one to a commit"
course --to "$between" || fail "--to an older commit ended with $?"
[[ $(tail -n 1 labs/hints.toml) == 'Between versions.' ]] || fail "--to an older commit went elsewhere"
git -C "$place/origin" reset -q --hard v1.1.0

# A fetch starts git's maintenance, which continues in the background.
kind='clone, due for maintenance'
git clone -q "$place/origin" "$place/copies/due"
cd "$place/copies/due"
git reset -q --hard v1.0.0
common/update.sh start
mkdir "$place/many"
seq 600 | split -l 1 -a 3 - "$place/many/"
find "$place/many" -type f | git hash-object -w --stdin-paths >/dev/null
git config gc.auto 1
printf '#!/bin/sh\nsleep 30 >/dev/null 2>&1 &\necho $! >>"%s/maintenance"\nexit 1\n' "$place" >.git/hooks/pre-auto-gc
chmod +x .git/hooks/pre-auto-gc
course || fail "ended with $?"
[[ -s $place/maintenance ]] || fail "git did not start its maintenance"
course || fail "the second update ended with $?"
xargs kill <"$place/maintenance" 2>/dev/null || true  # it may have ended already

# The disk fills up halfway.
kind='clone, interrupted'
mkdir "$place/bin"
printf '#!/bin/sh\ncase "$*" in *hints.toml.new~) echo "cp: No space left on device" >&2; exit 1 ;; esac\nexec %s "$@"\n' "$(command -v cp)" >"$place/bin/cp"
chmod +x "$place/bin/cp"
git reset -q --hard v1.0.0
git update-ref refs/course/start HEAD
echo '// mine' >>$handin/transpose.cu
before=$(everything) status=$(git status --porcelain)
! PATH=$place/bin:$PATH course || fail "continued without disk space"
says "the update did not finish; go back with ./course update --undo"
! course || fail "continued after an interrupted update"
says "an update was interrupted; first run ./course update --undo"
course --undo || fail "--undo ended with $?"
[[ $(everything) == "$before" && $(git status --porcelain) == "$status" ]] || fail "undo left: $(diff <(everything) <(echo "$before"))"

# --- refusals: each changes nothing -----------------------------------------------------------------------------------
kind=refusals
git clone -q "$place/origin" "$place/copies/refused"
cd "$place/copies/refused"
git reset -q --hard v1.0.0
state() { everything; [[ ! -e .git ]] || { git rev-parse HEAD; git status --porcelain; }; }
refuses() {  # refuses TEXT [OPTION...]
  local text=$1 before
  shift
  before=$(state)
  ! course "$@" || fail "update $* did not fail"
  says "$text"
  [[ $(state) == "$before" ]] || fail "update $* changed something"
}
refuses "there is no $PWD/nowhere" --from nowhere
refuses "is not the course" --from /usr/share
mkdir -p "$place/other/stuff" && echo x >"$place/other/stuff/file" && tar -czf "$place/other.tar.gz" -C "$place" other
refuses "other.tar.gz is not the course" --from "$place/other.tar.gz"
head -c 20000 "$place/archives/new.tar.gz" >"$place/cut.tar.gz"
refuses "cannot unpack $place/cut.tar.gz" --from "$place/cut.tar.gz"
refuses "download https://example.org/course.tar.gz first" --from https://example.org/course.tar.gz
refuses "there is no version 9.9.9 at origin; it has: 1.0.0 1.1.0" --to 9.9.9
refuses "is version 1.1.0, not 1.2.0" --from "$new" --to 1.2.0
refuses "there is no commit 0123abcd at origin" --to 1.1.0+0123abcd
refuses "is version 1.1.0, not 1.0.9" --to "1.0.9+$(git rev-parse v1.1.0^{commit})"
refuses "is not a git repository, so it has no commits" --from "$new" --to 1.1.0+0123abcd
refuses "does not know '--force'" --force
refuses "--to needs a value" --to
refuses "there is no update to undo" --undo
refuses "--undo takes no other option" --undo --to 1.0.0
cp -r "$new" "$place/unversioned" && rm "$place/unversioned/VERSION"
refuses "has no file VERSION" --from "$place/unversioned"
cp -r "$new" "$place/older" && echo 0.9.0 >"$place/older/VERSION"
refuses "is version 0.9.0, older than this one, 1.0.0" --from "$place/older"
git remote set-url origin https://no-such-host.invalid/course.git
refuses "Without a network, ask for an archive of the course"
git remote remove origin
refuses "This clone has no remote"
exec 8>backups/update.lock && flock 8
refuses "something builds or updates in this copy right now" --from "$new"
exec 8>&-
git switch -qc theirs && echo theirs >>README.md && git commit -qam theirs && git switch -q main && echo ours >>README.md && git commit -qam ours
git merge theirs >/dev/null 2>&1 || true
refuses "a merge, rebase, cherry-pick or revert is half done" --from "$new"
git merge --abort
git rebase theirs >/dev/null 2>&1 || true
refuses "a merge, rebase, cherry-pick or revert is half done" --from "$new"
git rebase --abort
git stash -q 2>/dev/null || true; echo stashed >>README.md; git stash -q; git switch -q theirs; git stash pop >/dev/null 2>&1 || true
refuses "files have merge conflicts: README.md" --from "$new"
kind='refusals without git'
cp -r "$old" "$place/copies/no remote" && cd "$place/copies/no remote"
refuses "This copy is not a git clone, so name it"
# Inside the student's own repository the course is still a copy, and update leaves that repository unchanged.
kind='archive in a repository'
mkdir "$place/own" && cd "$place/own" && git init -q . && git commit -q --allow-empty -m start && cp -r "$old" labs && cd labs
common/update.sh start
course --from "$new" || fail "ended with $?"
[[ $(git log --format=%s) == start && $(./course --version) == *1.1.0 ]] || fail "the student's repository has: $(git log --format=%s)"
echo "updates, undo and refusals: all as they should be"
