// Makes the pages faster and live. Every page also works without this script.
'use strict';
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const base = document.body.dataset.base || '';
  const policy = window.trustedTypes
    ? trustedTypes.createPolicy('ken', { createHTML: (text) => text })
    : { createHTML: (text) => text };
  const isTyping = (element) => element && element.matches('input, textarea, select');

  // Parts of a page: the server sends the page again, and the named parts are replaced.
  async function load(url, options = {}) {
    const response = await fetch(url, {
      ...options, headers: { 'Ken-Regions': '1', ...options.headers },
    });
    if (!response.ok) throw new Error(response.status);
    return new DOMParser().parseFromString(policy.createHTML(await response.text()), 'text/html');
  }
  function replace(fresh, ids) {
    for (const id of ids) {
      const old = document.getElementById(id);
      const now = fresh.getElementById(id);
      if (old && now) old.replaceWith(document.adoptNode(now));
    }
    enhance();
  }

  // Search as you type: one request at a time, always with the newest words. A request per letter
  // would reach the hub's limit of requests that run at once.
  let searched; // The field whose words are still to be sent.
  let isSearching = false;
  async function searchNow(input) {
    searched = input;
    if (isSearching) return;
    isSearching = true;
    while (searched) {
      const { form, value } = searched;
      const query = new URLSearchParams(new FormData(form)).toString();
      searched = undefined;
      try {
        const fresh = await load(form.action, {
          method: 'POST', body: query,
          headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        });
        if (!$('#results')) break;
        replace(fresh, ['results', 'facets', 'total']);
        history.replaceState(null, '', form.action + (value ? '?' + query : ''));
      } catch {
        if (!searched) form.submit();
      }
    }
    isSearching = false;
  }
  document.addEventListener('input', (event) => {
    if (event.target.matches('form.search input') && $('#results')) searchNow(event.target);
  });

  // The row in hand.
  let row;
  function hold(next, options = {}) {
    if (!next) return;
    row?.classList.remove('current');
    row = next;
    row.classList.add('current');
    if (!options.quiet) row.scrollIntoView({ block: 'nearest' });
    const link = $('[data-open], a, summary, button', row);
    if (!isTyping(document.activeElement)) link?.focus({ preventScroll: true });
    light();
    place();
  }
  function move(step) {
    const rows = $$('[data-row]').filter((it) => it.offsetParent);
    const at = rows.indexOf(row);
    hold(rows[Math.min(Math.max(at + step, 0), rows.length - 1)]);
  }
  document.addEventListener('focusin', (event) => {
    const owner = event.target.closest('[data-row]');
    if (owner && owner !== row) {
      row?.classList.remove('current');
      row = owner;
      row.classList.add('current');
      light();
      place();
    }
  });

  // Keys stand in the page: any control may carry `data-key`. Two strokes are separated by a space.
  let first = '';
  function press(control) {
    if (control.matches('summary')) {
      control.click();
      $('input:not([type=hidden]), textarea, button', control.parentElement)?.focus();
    } else {
      control.click();
    }
  }
  function controlFor(key) {
    const find = (root) => $$('[data-key]', root).find((it) => it.dataset.key === key && !it.hidden);
    return (row && row.isConnected && find(row)) ||
      $$('[data-key]').find((it) => it.dataset.key === key && !it.closest('[data-row]')) || find(document);
  }
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      const open = document.activeElement?.closest('details.disclose[open]');
      if (open) { open.open = false; $('summary', open).focus(); } else document.activeElement?.blur();
      return;
    }
    if (isTyping(event.target) || event.ctrlKey || event.altKey || event.metaKey) return;
    if (!document.body.dataset.keys || $('dialog[open]')) return;
    const key = first ? first + ' ' + event.key : event.key;
    first = '';
    if (event.key === 'g' && key === 'g') { first = 'g'; return; }
    if (key === '/') { $('[data-focus="/"]').focus(); $('[data-focus="/"]').select(); event.preventDefault(); return; }
    if (key === 'j' || key === 'k') { move(key === 'j' ? 1 : -1); event.preventDefault(); return; }
    if (key === 'Enter' && row && document.activeElement === document.body) { $('[data-open]', row)?.click(); return; }
    if (key === '?') { showKeys(); event.preventDefault(); return; }
    if ((key === ']' || key === '[') && $('.note[data-line]')) { move(key === ']' ? 1 : -1); return; }
    const control = controlFor(key);
    if (control) { press(control); event.preventDefault(); }
  });
  function showKeys() {
    const dialog = $('#keys');
    const keys = new Map([['/', 'search'], ['j k', 'next, previous'], ['Esc', 'leave the field']]);
    for (const it of $$('[data-key]')) {
      if (it.dataset.key !== '?') keys.set(it.dataset.key, it.textContent.replace(/\s+\S+\s*$/, '').trim() || it.textContent.trim());
    }
    for (const it of $$('nav.main [data-key]')) keys.set(it.dataset.key, it.firstChild.textContent.trim());
    const list = document.createElement('dl');
    for (const [key, label] of keys) {
      const term = document.createElement('dt');
      const kbd = document.createElement('kbd');
      kbd.textContent = key;
      term.append(kbd);
      const what = document.createElement('dd');
      what.textContent = label;
      list.append(term, what);
    }
    const close = document.createElement('button');
    close.textContent = 'Close';
    close.addEventListener('click', () => dialog.close());
    dialog.replaceChildren(list, close);
    dialog.showModal();
  }

  // Notes stand beside their lines; without room they are pushed down.
  function place() {
    const notes = $('#notes');
    if (!notes) return;
    const wide = matchMedia('(min-width: 64rem)').matches;
    notes.classList.toggle('placed', wide);
    let bottom = 0;
    const top = notes.getBoundingClientRect().top;
    const cards = $$('.note', notes);
    for (const note of cards) {
      const line = note.dataset.line && document.getElementById('L' + note.dataset.line);
      const wanted = line ? line.getBoundingClientRect().top - top : bottom;
      const at = Math.max(wanted, bottom);
      note.style.top = wide ? at + 'px' : '';
      bottom = at + note.offsetHeight + 8;
    }
    notes.style.minHeight = wide ? bottom + 'px' : '';
    notes.classList.add('ready');
  }
  function light() {
    for (const line of $$('.l.lit')) line.classList.remove('lit');
    if (!row?.dataset.line) return;
    for (let at = +row.dataset.line; at <= +row.dataset.last; at++) {
      document.getElementById('L' + at)?.classList.add('lit');
    }
  }
  addEventListener('resize', place);
  document.addEventListener('toggle', place, true);

  // Live: the server names what changed, and the page fetches what it shows.
  let stream;
  const pending = new Set();
  function listen() {
    stream?.close();
    stream = null;
    const topics = new Set($$('[data-live]').flatMap((it) => it.dataset.live.split(' ')));
    if (document.hidden || !topics.size) return;
    const query = [...topics].map((it) => 'topic=' + encodeURIComponent(it)).join('&');
    stream = new EventSource(base + '/live?' + query);
    // What changed before the stream was ready, as in a hidden tab, is found by comparing.
    stream.onmessage = ({ data }) => data === 'ready' ? compare() : changed(data.split(' '));
  }
  async function compare() {
    let fresh;
    try { fresh = await load(location.href); } catch { return; }
    for (const region of $$('[data-live]')) {
      const now = fresh.getElementById(region.id);
      if (now && now.textContent !== region.textContent) changed(region.dataset.live.split(' '));
    }
  }
  async function changed(topics) {
    for (const region of $$('[data-live]')) {
      if (!region.dataset.live.split(' ').some((it) => topics.includes(it))) continue;
      const isBusy = isTyping(document.activeElement) && region.contains(document.activeElement);
      const isOpen = $('details.disclose[open]', region);
      if (region.hasAttribute('data-auto') && !isBusy && !isOpen) await refresh([region.id]);
      else { pending.add(region.id); news(); }
    }
  }
  async function refresh(ids) {
    const held = row?.id;
    try { replace(await load(location.href), ids); } catch { return; }
    if (held && document.getElementById(held)) hold(document.getElementById(held), { quiet: true });
  }
  function news() {
    const bar = $('#news');
    $('span', bar).textContent = 'This page has news.';
    bar.hidden = false;
  }
  $('#news button')?.addEventListener('click', async () => {
    $('#news').hidden = true;
    await refresh([...pending]);
    pending.clear();
  });
  document.addEventListener('visibilitychange', listen);

  document.addEventListener('click', async (event) => {
    const copy = event.target.closest('[data-copy]');
    if (copy) {
      await navigator.clipboard.writeText(copy.dataset.copy);
      copy.textContent = 'Copied';
    }
    if (event.target.closest('button.help')) showKeys();
    const owner = event.target.closest('.note[data-line]');
    if (owner && owner !== row && !event.target.closest('a, button, summary, input, textarea')) hold(owner, { quiet: true });
  });

  function enhance() {
    for (const it of $$('button.copy, button.help')) it.hidden = false;
    place();
    const target = location.hash ? document.getElementById(location.hash.slice(1)) : null;
    if (target?.matches('[data-row]') && !row) hold(target);
  }
  enhance();
  listen();
  addEventListener('pagehide', () => stream?.close());
})();
