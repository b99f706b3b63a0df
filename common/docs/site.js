// What the theme lacks: names for people who cannot see, keys for those who use no mouse, and explanations of the
// glossary's terms where a lab first uses them.
addEventListener('load', () => {
  const all = selector => [...document.querySelectorAll(selector)];
  const name_search = () => all('#MSearchField:not([aria-label])').forEach(e => e.setAttribute('aria-label', 'Search'));
  name_search();
  new MutationObserver(name_search).observe(document.body, { childList: true, subtree: true });  // a phone's menu has its own
  all('#nav-tree a:has(> .arrow)').forEach(e => e.setAttribute('aria-label', 'fold or unfold'));
  const name = (e, words) => { e.setAttribute('role', 'img'); e.setAttribute('aria-label', words); };
  all('.image object').forEach(e => name(e, e.closest('.image').textContent.trim()));
  // In a narrow table a name breaks after _ and /, not within a word, and an option not at all.
  const element = (name, text) => Object.assign(document.createElement(name), { textContent: text });
  all('.markdownTable code').forEach(e => e.replaceChildren(...e.textContent.split(/(?<=[_/])|(--[\w-]*)/).filter(Boolean).flatMap(part =>
    part.startsWith('--') ? Object.assign(element('span', part), { style: 'white-space: nowrap' }) : [part, element('wbr', '')])));
  const can_scroll = () => all('div.fragment, table, tbody, .memproto').forEach(e => {
    if (e.scrollWidth > e.clientWidth) e.setAttribute('tabindex', '0');
  });
  can_scroll();
  addEventListener('resize', can_scroll);
  if (window.MathJax) MathJax.Hub.Queue(() => all('script[type^="math/tex"]').forEach(tex => {
    const svg = tex.previousElementSibling?.querySelector('svg');
    if (svg) name(svg, tex.textContent);
  }));

  const page = location.pathname.split('/').pop();
  if (!page.startsWith('labs') || page.startsWith('labs_glossary') || !window.glossary) return;
  // In lab 12 the kernel is the operating system's, and threads run on a core.
  const others = page.startsWith('labs_12') ? ['kernel', 'launch', 'thread', 'stream'] : [];
  const words = Object.keys(glossary).filter(w => !others.includes(w)).sort((a, b) => b.length - a.length).map(w => w.replace(/[-/\\^$*+?.()|[\]{}]/g, '\\$&'));
  const term = new RegExp(`(?<![\\w-])(${words.join('|')})(?:e?s)?(?![\\w-])`, 'i');
  const popup = document.body.appendChild(document.createElement('div'));
  popup.id = 'term';
  popup.setAttribute('role', 'tooltip');
  popup.hidden = true;
  let shown = null;
  const hide = () => { popup.hidden = true; shown = null; };
  const show = link => {
    shown = link;
    popup.textContent = link.dataset.says;
    popup.hidden = false;
    const box = link.getBoundingClientRect(), own = popup.getBoundingClientRect();
    popup.style.left = `${Math.max(8, Math.min(box.left, innerWidth - own.width - 8))}px`;
    popup.style.top = `${box.bottom + own.height + 12 < innerHeight ? box.bottom + 4 : box.top - own.height - 4}px`;
  };
  addEventListener('keydown', e => { if (e.key === 'Escape') hide(); });
  addEventListener('scroll', () => { if (shown) show(shown); }, true);
  const seen = new Set();
  for (const block of all('.contents p, .contents li')) {
    const walk = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    for (let text; (text = walk.nextNode());) {
      if (text.parentElement.closest('a, code, pre, summary, script, .toc, .MathJax_SVG, .fragment')) continue;
      const found = term.exec(text.textContent), word = found?.[1].toLowerCase();
      if (!found || seen.has(word)) continue;
      seen.add(word);
      const link = document.createElement('a'), rest = text.splitText(found.index);
      rest.textContent = rest.textContent.slice(found[0].length);
      [link.className, link.textContent] = ['term', found[0]];
      [link.href, link.dataset.says] = glossary[word];
      link.setAttribute('aria-describedby', 'term');
      for (const event of ['mouseenter', 'focus']) link.addEventListener(event, () => show(link));
      for (const event of ['mouseleave', 'blur']) link.addEventListener(event, hide);
      rest.before(link);
      walk.currentNode = link.firstChild;
    }
  }
});
