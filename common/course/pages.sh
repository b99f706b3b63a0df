# The site and the decks need more packages than the labs.

# build_pages TARGET: call it after installing packages that CMake looks for.
build_pages() {
  say cmake --preset default
  cmake --preset default | progress "configuring" >&2
  build "$1"
}

other_packages() {
  if [[ -n $has_apt ]]; then install_packages "$@"; else echo "course: install what is missing of these: $*" >&2; fi
}

# usage: ./course docs
# Builds the course site, build/docs/html/index.html: handouts, guides, glossary, API. Installs doxygen and its theme.
cmd_docs() {
  setup
  other_packages doxygen doxygen-awesome-css libjs-mathjax
  build_pages docs
  echo "the site: $build/docs/html/index.html"
}

# usage: ./course slides
# Builds the decks, build/slides/NN_topic.html and .pdf. Installs chromium and Node.js and, with npm, Marp and
# axe-core (with which a test checks the site) into build/marp.
cmd_slides() {
  setup
  if ! command -v chromium chromium-browser google-chrome >/dev/null; then
    [[ -z $ubuntu ]] ||
      die "Ubuntu has no package of Chromium: run snap install chromium, or install Google Chrome, then run this again"
    other_packages chromium
  fi
  other_packages fonts-dejavu-core
  command -v npm >/dev/null || other_packages nodejs npm
  [[ -x $build/marp/node_modules/.bin/marp && -d $build/marp/node_modules/axe-core ]] ||
    { say npm install --prefix $build/marp; npm install --silent --no-audit --no-fund --prefix $build/marp @marp-team/marp-cli@4.5.1 axe-core@4.14.1 |
      progress "installing Marp and axe-core" >&2; }
  build_pages slides
  echo "the decks: $build/slides/*.html and *.pdf"
}
