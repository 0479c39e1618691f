// Stores every payload in every field that takes it, opens every page in Chromium, and expects that
// nothing runs, nothing is reported and nothing leaves.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { personEnvironment } from './environment.mjs';
import { check, chromium, CHROMIUM, cookieHeader, finish, KEN, openPage, signIn, startServer, test } from './harness.mjs';
import { LONG_WORD, payloads } from './payloads.mjs';

const { XSS_REPOSITORY: folder } = process.env;
const PAYLOADS_MIN = 200;
// Hundreds of pages are opened, so several at the same time.
const TABS = 3;
mkdirSync(join(folder, 'src'), { recursive: true });
const run = (program, ...args) => execFileSync(program, args, { cwd: folder, env: personEnvironment, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const tryRun = (...args) => spawnSync(KEN, args, { cwd: folder, env: personEnvironment, encoding: 'utf8', maxBuffer: 64 << 20 });
const git = (...args) => run('git', ...args);

// Code and documents are text of others too: file names, contents, a branch.
const hostileName = 'src/<img src=x onerror=pwned(2)>.rs';
const hostileCode = [...payloads.filter((it) => !it.includes('\n') && !it.includes('\x00')).map((it) => `// ${it}`), 'pub fn target() {}', `// ${LONG_WORD}`].join('\n');
writeFileSync(join(folder, hostileName), hostileCode);
writeFileSync(join(folder, 'src/page.html'), payloads.filter((it) => !it.includes('\x00')).join('\n'));
writeFileSync(join(folder, 'CLAUDE.md'), `# Rules\n\n${payloads.slice(0, 60).map((it) => `- Never accept ${it.replaceAll('\n', ' ')} in \`src/gone.rs\`.`).join('\n')}\n`);
git('init', '--quiet', '--initial-branch=main');
git('config', 'user.name', 'Ada');
git('config', 'user.email', 'ada@example.org');
git('add', '.');
git('commit', '--quiet', '-m', 'Start');
git('checkout', '--quiet', '-b', 'x"><svg/onload=pwned(3)>');
run(KEN, 'init');

// Every field of an entry that takes free text, by kind. A field that refuses a payload is left out.
const FIELDS = ['statement', 'body', 'verify', 'depends_on', 'applies_to', 'cite', 'tags', 'lens', 'anchors', 'thread'];
const KIND_FIELDS = { spike: ['question', 'answer', 'constraints'], learning: [], 'commit-norm': [], entity: ['name'] };
const stored = Object.fromEntries([...FIELDS, 'question', 'answer', 'constraints', 'name', 'reason', 'note', 'task', 'finding', 'quarantine', 'package'].map((it) => [it, 0]));

const value = (field, payload) => {
  switch (field) {
    case 'verify': case 'constraints': case 'tags': return [payload];
    // These must exist, so the hostile part is the name of the file.
    case 'depends_on': return [`file:${hostileName}`];
    case 'applies_to': return [`src/${payload}`];
    case 'cite': return [`test:${payload}`];
    case 'anchors': return [`${hostileName}#target`];
    default: return payload;
  }
};
const lines = [];
const kinds = Object.keys(KIND_FIELDS);
payloads.forEach((payload, at) => {
  const kind = kinds[at % kinds.length];
  const object = { kind, statement: `Case ${at}: ${payload}`.slice(0, 3_990), cite: ['pr:1'], body: payload, verify: [payload] };
  for (const field of KIND_FIELDS[kind]) object[field] = value(field, field === 'name' ? payload.slice(0, 60) : payload);
  if (kind === 'spike') object.confidence = 'conclusive';
  // Rotating, so that a field with a narrow grammar costs one attempt per payload.
  const narrow = ['depends_on', 'applies_to', 'cite', 'tags', 'lens', 'anchors', 'thread'][at % 7];
  object[narrow] = value(narrow, payload);
  lines.push({ object, narrow });
});

let added = 0;
const add = (object) => tryRun('add', '--content', JSON.stringify(object));
for (const { object, narrow } of lines) {
  const attempts = [object, { ...object, [narrow]: undefined, cite: ['pr:1'] }];
  const bare = { kind: 'learning', statement: object.statement, cite: ['pr:1'] };
  attempts.push({ ...bare, body: object.body, verify: object.verify }, { ...bare, verify: object.verify }, { ...bare, body: object.body }, bare);
  for (const attempt of attempts) {
    if (add(attempt).status !== 0) continue;
    added++;
    for (const field of Object.keys(attempt)) if (attempt[field] !== undefined && field in stored && !(field === 'cite' && attempt.cite[0] === 'pr:1')) stored[field]++;
    break;
  }
}
const big = tryRun('add', '--kind', 'learning', '--cite', 'pr:1', '--statement', 'A body with one very long word', '--body', LONG_WORD.slice(0, 60_000));
console.log(`     ${payloads.length} payloads, ${added} stored as entries${big.status === 0 ? ', long word in a body' : ''}`);

// Texts that events carry besides the content: reasons, notes, tasks, findings.
const ids = JSON.parse(`[${run(KEN, 'list', '--all', '--format', 'json').trim().split('\n').join(',')}]`).map((it) => it.id);
payloads.slice(0, 40).forEach((payload, at) => {
  if (payload.length > 200) return;
  const id = ids[at];
  if (tryRun('edit', id, '--statement', `Edited ${at}: ${payload}`, '--note', payload).status === 0) stored.reason++;
  if (at % 4 === 0 && tryRun('guard', 'quarantine', 'add', id, '--reason', payload).status === 0) stored.quarantine++;
  if (at % 4 === 1 && tryRun('retract', id, '--reason', 'obsolete', '--note', payload).status === 0) stored.note++;
});
payloads.slice(0, 8).forEach((payload, at) => {
  if (tryRun('run', 'open', `run-${at}`, '--agent', 'a', '--task', payload).status === 0) stored.task++;
  if (tryRun('--by', 'agent:a', '--run', `run-${at}`, 'run', 'observe', '--statement', `Found ${payload}`).status === 0) stored.finding++;
  tryRun('--by', 'agent:a', '--run', `run-${at}`, 'search', 'Case');
});
// A name that is not locked goes into the log of the forager as it was typed.
mkdirSync(process.env.KEN_FORAGE, { recursive: true });
writeFileSync(join(process.env.KEN_FORAGE, 'forage.toml'), 'sources = ["packages"]\n');
payloads.slice(0, 40).forEach((payload) => { if (tryRun('forage', 'How?', `--package=${payload}`).status === 0) stored.package++; });
tryRun('run', 'close', 'run-0', '--outcome', 'succeeded');
tryRun('import', '--review');
console.log(`     stored by field: ${JSON.stringify(stored)}`);

// Words of another organization, in every field that a publication has.
run(process.execPath, join(import.meta.dirname, 'seed-peers.mjs'), KEN, folder, 'hostile', '120');

const server = await startServer(folder);
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
const context = await browser.newContext({ viewport: { width: 1366, height: 850 }, reducedMotion: 'reduce' });
context.setDefaultTimeout(60_000);
const tabs = [];
for (let at = 0; at < TABS; at++) tabs.push(await openPage(context, server.origin));
const [{ page, seen }] = tabs;
await signIn(page, server);
const cookie = await cookieHeader(context);

await test(`at least ${PAYLOADS_MIN} payloads are stored, in every field`, () => {
  check(added >= PAYLOADS_MIN, `${added} are stored`);
  for (const field of Object.keys(stored)) check(stored[field] > 0, `${field} has none`);
});

/** Opens pages in all tabs. */
async function visitAll(paths) {
  const waiting = [...paths];
  const ends = await Promise.allSettled(tabs.map(async (tab) => {
    try {
      while (waiting.length) await visit(waiting.shift(), tab);
    } catch (error) {
      // The other tabs stop too, or they would disturb the next test.
      waiting.length = 0;
      throw error;
    }
  }));
  for (const it of ends) if (it.reason) throw it.reason;
}

/** Opens a page and checks that everything on it is inert. */
async function visit(path, { page, seen } = tabs[0]) {
  seen.reset();
  const url = `${server.origin}${path}`;
  const response = await page.goto(url, { waitUntil: 'load' });
  check(response.status() < 500, `${path}: ${response.status()}`);
  // Elements that only a payload could have made, and handlers on any element.
  const foreign = await page.evaluate(() => {
    // Elsewhere, as in the value of a text field, an address is text.
    const ADDRESSES = ['href', 'xlink:href', 'src', 'srcdoc', 'srcset', 'action', 'formaction', 'data', 'poster', 'background', 'ping', 'content', 'to', 'values'];
    const made = [...document.querySelectorAll('img, iframe, object, embed, video, audio, marquee, base, style, math, template, frameset, noscript')].map((it) => it.outerHTML.slice(0, 80));
    for (const it of document.querySelectorAll('*')) for (const { name, value } of it.attributes) {
      if (name.startsWith('on') || name === 'style' && !it.closest('#notes') || ADDRESSES.includes(name) && /^\s*(javascript|data|vbscript):/i.test(value)) made.push(`${it.tagName} ${name}=${value.slice(0, 60)}`);
    }
    if (document.querySelectorAll('script').length !== 2) made.push('a script');
    for (const it of document.querySelectorAll('details')) it.open = true;
    return made;
  });
  check(foreign.length === 0, `${path}: ${foreign.join('; ')}`);
  const links = await page.$$eval('a[href], form[action]', (all) => all.map((it) => it.href || it.action).filter((it) => !it.startsWith(location.origin)));
  check(links.length === 0, `${path}: leads to ${links.slice(0, 3).join(' ')}`);
  check(page.url() === new URL(url).href, `${path}: the page went to ${page.url()}`);
  seen.assertQuiet((it) => response.status() >= 400 && it.includes(String(response.status())));
}

await test('lists, searches and the pages around them', async () => {
  let path = '/entries?show=all';
  let pages = 0;
  while (path) {
    await visit(path);
    pages++;
    path = await page.locator('a[rel=next]').count() ? await page.locator('a[rel=next]').first().evaluate((it) => it.pathname + it.search) : null;
  }
  check(pages >= 4, `${pages} pages`);
  await visitAll(['/', '/inbox', '/inbox?lane=quarantined', '/inbox?lane=claims', '/inbox?lane=contradictions', '/inbox?lane=duplicates', '/inbox?lane=health', '/documents', '/change', '/runs',
    '/health', '/stats', '/norms', '/people', '/forage', '/peers', '/peers/hostile', '/impact', '/at', '/at/src', `/at/${encodeURIComponent(hostileName).replaceAll('%2F', '/')}`, '/at/src/page.html', '/at/CLAUDE.md',
    '/brief?task=Case+1+script', '/runs/id/run-0', '/runs/id/run-1', '/runs/compare?a=run-0&b=run-1']);
});
await test('every entry of a peer', async () => {
  let path = '/peers/hostile';
  let pages = 0;
  while (path) {
    await visit(path);
    check(await page.locator('.claim a, .details bdi a').count() === 0, 'words of a stranger lead nowhere');
    pages++;
    path = await page.locator('a[rel=next]').count() ? await page.locator('a[rel=next]').first().evaluate((it) => it.pathname + it.search) : null;
  }
  check(pages >= 4, `${pages} pages`);
});
await test('every entry, and the history and neighbors of some', async () => {
  await visitAll(ids.flatMap((id, at) => at % 10 === 0 ? [`/e/${id}`, `/e/${id}/history`, `/e/${id}/near`] : [`/e/${id}`]));
});
await test('payloads in addresses, searches and forms', async () => {
  const places = ['/entries?q=', '/e/', '/add?anchor=', '/at/', '/norms?path=', '/brief?task=', '/runs/id/', '/entries?tag='];
  await visitAll(payloads.filter((it) => it.length < 500).map((it) => places[it.length % places.length] + encodeURIComponent(it)));
  const posted = payloads.filter((it) => it.length < 500).slice(0, 40);
  for (const payload of posted) {
    const body = new URLSearchParams({ entry: ids[0], citation: payload, back: payload }).toString();
    const response = await server.raw('/do/cite', { Cookie: cookie, Origin: `http://${server.host}`, 'Content-Type': 'application/x-www-form-urlencoded' }, 'POST', body);
    check(response.status < 500, `a form: ${response.status}`);
    check(!/<(img|script|svg)[^>]*(onerror|onload|pwned)/i.test(response.text), `echoed: ${payload}`);
    check(!response.headers.location?.includes('evil'), response.headers.location);
  }
});
await test('a payload in the live region stays text when it is replaced', async () => {
  // Chromium draws no frames of a tab behind others, and waiting counts frames.
  await page.bringToFront();
  await page.goto(`${server.origin}/at/src/page.html`);
  seen.reset();
  writeFileSync(join(folder, 'src/page.html'), `changed\n${payloads.filter((it) => !it.includes('\x00')).join('\n')}`);
  await page.waitForFunction(() => document.querySelector('#L1')?.textContent.includes('changed'));
  seen.assertQuiet();
});
check(!server.errors().includes('panicked'), server.errors());
await finish(browser, server);
