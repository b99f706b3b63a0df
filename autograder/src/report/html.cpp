// Escaping, and how the report looks.
#include "report/html.hpp"

namespace grading {

std::string escaped(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return out;
}

const char* style_sheet() {
  return R"css(
:root { color-scheme: light dark; --text: #1d2330; --soft: #5d6675; --page: #f6f7f9; --card: #fff; --line: #dfe3ea;
  --good: #1a7f4b; --bad: #c2303a; --slow: #a8650a; --none: #5b6472; --mark: #2563b8; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ef; --soft: #98a2b3; --page: #14171c; --card: #1c2027;
  --line: #323845; --good: #4cc38a; --bad: #ff7b7f; --slow: #f0a93b; --none: #98a2b3; --mark: #6ea8fe; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 66rem; padding: 1rem; background: var(--page); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: .5rem 0 0; } h2 { font-size: 1.15rem; margin: 1.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; } h4 { font-size: .9rem; margin: 1rem 0 .25rem; }
p { margin: .25rem 0; } .soft { color: var(--soft); font-size: .875rem; } .num { text-align: right; }
code, pre, .code { font: .8125rem/1.45 ui-monospace, monospace; }
.card, details.result { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem;
  margin: .75rem 0; }
summary { cursor: pointer; } summary:focus-visible { outline: 2px solid var(--mark); outline-offset: 2px; }
.row { display: grid; gap: .125rem 1rem; align-items: center; padding: .5rem 0; border-top: 1px solid var(--line); }
.row:first-child { border-top: 0; }
.overall .row { grid-template-columns: 22rem 1fr 7rem; } .overall a { color: inherit; }
.items .row { grid-template-columns: 1fr 8rem 13rem 5.5rem; align-items: start; }
.items .why { grid-column: 1 / -1; }
.bar { position: relative; display: block; height: .6rem; border-radius: .3rem; background: var(--line); overflow: hidden; }
.bar i { position: absolute; inset: 0 auto 0 0; background: var(--good); }
.bar i.lost { background: var(--bad); opacity: .55; } .bar i.slow { background: var(--slow); }
.bar b { position: absolute; inset: 0 auto 0 auto; width: 2px; background: var(--text); }
.chip { display: inline-block; border-radius: .75rem; padding: 0 .6rem; font-size: .75rem; font-weight: 600;
  border: 1px solid currentColor; white-space: nowrap; }
.good { color: var(--good); } .bad { color: var(--bad); } .slow { color: var(--slow); } .none { color: var(--none); }
.message { white-space: pre-wrap; overflow-wrap: anywhere; }
.hint, .advice { border-left: 3px solid var(--mark); padding-left: .6rem; } .advice { border-color: var(--none); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .875rem; width: 100%; }
td code { overflow-wrap: anywhere; } th { text-align: left; font-weight: 600; color: var(--soft); } th.num { text-align: right; }
td, th { padding: .2rem .6rem .2rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; vertical-align: top; }
td.source { white-space: pre; } tr.waste td { color: var(--bad); }
pre { overflow-x: auto; max-height: 20rem; white-space: pre-wrap; overflow-wrap: anywhere; margin: .25rem 0; }
svg { max-width: 100%; height: auto; }
@media (max-width: 40rem) { body { padding: .5rem; } .overall .row { grid-template-columns: 1fr auto; }
  .overall .bar { grid-column: 1 / -1; grid-row: 2; } .items .row { grid-template-columns: 1fr auto; }
  .items .title { grid-column: 1 / -1; } .items .figure { grid-column: 1 / -1; grid-row: 3; } }
)css";
}

}  // namespace grading
