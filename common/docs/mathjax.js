// Formulas as large as the text around them.
MathJax.Hub.Config({ SVG: { scale: 82, linebreaks: { automatic: true } } });
