// Tests of the pages of `ken ui` in Chromium: access, every page in light and dark, live updates.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import http from 'node:http';
import { check, checkAccessibility, checkHtml, chromium, CHROMIUM, cookieHeader, finish, openPage, SHOTS, signIn, startServer, test } from './harness.mjs';

const { REPOSITORY } = process.env;
const PAGE_BYTES_MAX = 60_000;
const SCRIPT_BYTES_MAX = 12_000;
// One of them compares a live page with what changed while it loaded.
const REQUESTS_MAX = 7;
const ELEMENTS_MAX = 12_000;

const server = await startServer(REPOSITORY);
const { origin, link, host, raw } = server;
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
const context = await browser.newContext({ viewport: { width: 1366, height: 850 }, reducedMotion: 'reduce' });
context.setDefaultTimeout(60_000);
const { page, seen } = await openPage(context, origin);

await test('without the link, a browser is not signed in', async () => {
  const response = await page.goto(`${origin}/`);
  check(response.status() === 401, `status ${response.status()}`);
});
await test('the link signs in once', async () => {
  seen.reset();
  await signIn(page, server);
  seen.assertQuiet();
  const again = await raw(new URL(link).pathname);
  check(again.status === 401, `second use: ${again.status}`);
});
const cookie = await cookieHeader(context);

await test('a foreign name, site, method or cookie is refused', async () => {
  const own = { Cookie: cookie };
  const status = async (...args) => (await raw(...args)).status;
  for (const [expected, what, ...args] of [
    [200, 'our own page', '/', own],
    [421, 'a foreign name', '/', { ...own, Host: 'evil.example' }],
    [421, 'our name with another port', '/', { ...own, Host: '127.0.0.1:1' }],
    [421, 'a name that ends like ours', '/', { ...own, Host: `evil.${host}` }],
    [401, 'no cookie', '/entries', {}],
    [401, 'an empty cookie', '/entries', { Cookie: `${cookie.split('=')[0]}=` }],
    [401, 'the cookie of another server', '/entries', { Cookie: cookie.replace(/=.*/, '=00000000000000000000000000000000') }],
    [401, 'a cookie that only begins like ours', '/entries', { Cookie: cookie.slice(0, -1) }],
    [401, 'no cookie for the stream', '/live?topic=ledger', {}],
    [401, 'no cookie for JSON', '/entries?format=json', {}],
    [401, 'a form without cookie', '/do/confirm', { Origin: `http://${host}` }, 'POST', 'entry=L-1'],
    [403, 'a fetch of another site', '/entries', { ...own, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors' }],
    [403, 'a fetch of another port', '/entries', { ...own, 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'cors' }],
    [403, 'a frame', '/', { ...own, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'iframe' }],
    [403, 'a form of another site', '/do/confirm', { ...own, Origin: 'http://evil.example' }, 'POST', 'entry=L-1'],
    [403, 'a form of a sandbox', '/do/confirm', { ...own, Origin: 'null' }, 'POST', 'entry=L-1'],
    [403, 'a form without origin', '/do/confirm', own, 'POST', 'entry=L-1'],
    [405, 'OPTIONS', '/', { ...own, Origin: `http://${host}` }, 'OPTIONS'],
    [405, 'DELETE', '/', own, 'DELETE'],
  ]) check(await status(...args) === expected, `${what}: ${await status(...args)} instead of ${expected}`);
  const page = await raw('/', own);
  check(page.headers['access-control-allow-origin'] === undefined, 'no CORS');
  check(page.headers['content-security-policy'].includes("frame-ancestors 'none'"), 'no frames');
});

await test('another site can neither frame a page, read it, nor send a form', async () => {
  const form = `<form id=f method=post action="${origin}/do/add"><input name=kind value=learning><input name=statement value="forged by another site"></form>`;
  const evil = http.createServer((request, response) => {
    response.setHeader('Content-Type', 'text/html');
    if (request.url === '/frame') response.end(`<iframe id=i src="${origin}/"></iframe>`);
    else response.end(`<title>evil</title>${form}`);
  });
  await new Promise((resolve) => evil.listen(0, '127.0.0.1', resolve));
  const site = `http://127.0.0.1:${evil.address().port}`;
  try {
    const tab = await context.newPage();
    await tab.goto(`${site}/frame`);
    check(await tab.frameLocator('#i').locator('nav.main').count() === 0, 'it is not framed');
    const read = await tab.evaluate((url) => fetch(url, { credentials: 'include' }).then((it) => it.text(), () => 'refused'), `${origin}/entries`);
    check(read === 'refused', 'it is not read');
    await tab.goto(`${site}/form`);
    const answer = tab.waitForResponse((it) => it.url().endsWith('/do/add'));
    await tab.evaluate(() => document.getElementById('f').submit());
    check((await answer).status() === 403, `the form: ${(await answer).status()}`);
    await tab.close();
    // A name that resolves to us is DNS rebinding.
    const other = await context.newPage();
    const rebound = await other.goto(`http://rebound.localhost:${new URL(origin).port}/`);
    check(rebound.status() === 421, `another name: ${rebound.status()}`);
    await other.close();
  } finally { evil.close(); }
  const found = await raw('/entries?q=forged+by+another+site&format=json', { Cookie: cookie });
  check(!found.text.includes('forged by another site"}'), 'nothing was written');
});

const ids = {};
await test('entries are listed with facets and pages', async () => {
  await page.goto(`${origin}/entries`);
  check(await page.locator('.row').count() === 50, 'fifty rows');
  check((await page.locator('#total').innerText()).includes('entries'), 'a total');
  await page.click('a[rel=next]');
  await page.waitForURL(/after=/);
  check(await page.locator('.row').count() === 50, 'fifty more');
  await page.goto(`${origin}/entries?kind=commit-norm`);
  check(await page.locator('.row').count() === 1, 'one norm');
  ids.norm = await page.locator('.row .id').first().innerText();
});
await test('search answers while typing', async () => {
  // The first search reads every entry once.
  await page.goto(`${origin}/entries?q=warm`);
  await page.goto(`${origin}/entries`);
  await page.keyboard.press('/');
  await page.keyboard.type('refund makes the total negative', { delay: 5 });
  await page.waitForFunction(() => document.querySelector('.row .claim')?.textContent.includes('never makes the total negative'));
  check(page.url().includes('q=refund'), 'the words are in the address');
  await page.locator('.row .why summary').first().click();
  check(await page.locator('.parts tr').first().isVisible(), 'the score is explained');
  // Its code changed, so search withholds it; the list has it.
  await page.goto(`${origin}/entries?path=src/pay.rs`);
  ids.charge = await page.locator('.row', { hasText: 'ten euros' }).locator('.id').innerText();
});
await test('an entry answers its three questions', async () => {
  await page.goto(`${origin}/e/${ids.charge}`);
  const text = await page.locator('.three').innerText();
  check(text.includes('code changed'), 'the verdict');
  check(await page.locator('.diff .del').first().innerText().then((it) => it.includes('1_000')), 'the diff');
  check(text.includes('%'), 'the confidence');
});

const pages = {
  home: '/', inbox: '/inbox', changed: '/inbox?lane=changed', contradictions: '/inbox?lane=contradictions',
  duplicates: '/inbox?lane=duplicates', insights: '/inbox?lane=health', entries: '/entries', search: '/entries?q=idempotency+key',
  entry: `/e/${ids.charge}`, history: `/e/${ids.charge}/history`, near: `/e/${ids.charge}/near`, code: '/at/src/pay.rs',
  revision: '/at/src/pay.rs?rev=HEAD', root: '/at', folder: '/at/src', change: '/change', documents: '/documents',
  brief: '/brief?task=charge+a+customer', runs: '/runs', run: '/runs/id/review-1', openrun: '/runs/id/review-2',
  compare: '/runs/compare?a=review-1&b=review-2', impact: '/impact', health: '/health', stats: '/stats',
  norms: '/norms', people: '/people', forage: '/forage', peers: '/peers', peer: '/peers/acme', approved: '/peers/acme?lane=approved', settings: '/settings', add: '/add?anchor=src/pay.rs', missing: '/e/L-zzzzzzzz',
};
// Contrast depends on the theme and layout on the width, so two combinations cover both.
const looks = [['light', 1366], ['dark', 390]];
if (process.env.UI_FULL) looks.push(['light', 390], ['dark', 1366]);
const sizes = [];
for (const [name, path] of Object.entries(pages)) {
  const allowed = (problem) => name === 'missing' && problem.includes('404');
  await test(`${name}: renders in light and dark, is accessible, valid, small, and stays at home`, async () => {
    await page.setViewportSize({ width: 1366, height: 850 });
    seen.reset();
    const response = await page.goto(`${origin}${path}`, { waitUntil: 'load' });
    const expected = name === 'missing' ? 404 : 200;
    check(response.status() === expected, `status ${response.status()}: ${await page.locator('main').innerText()}`);
    check(await page.locator('h1').count() === 1, 'one h1');
    // A live page may read itself again while the server still compares entries.
    const requests = new Set(seen.requests);
    check(requests.size <= REQUESTS_MAX, `${requests.size} requests: ${[...requests].join(' ')}`);
    await checkHtml(await response.text(), name);
    const elements = await page.evaluate(() => document.querySelectorAll('*').length);
    check(elements <= ELEMENTS_MAX, `${elements} elements`);
    for (const [theme, width] of looks) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
      await page.setViewportSize({ width, height: 850 });
      if (SHOTS) await page.screenshot({ path: join(SHOTS, `${name}-${theme}-${width}.png`), fullPage: width === 1366 && elements < 3_000 });
      await checkAccessibility(page, `${theme} ${width}`);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      check(overflow <= 0, `${theme} ${width}: the page is ${overflow} px wider than the screen`);
    }
    await page.setViewportSize({ width: 1366, height: 850 });
    seen.assertQuiet(allowed);
  });
  await test(`${name}: a first visit transfers at most ${PAGE_BYTES_MAX} bytes`, async () => {
    const fresh = await browser.newContext();
    await fresh.addCookies(await context.cookies());
    const first = await openPage(fresh, origin);
    await first.page.goto(`${origin}${path}`, { waitUntil: 'load' });
    const all = first.seen.transfer();
    const scripts = all.filter((it) => it.type.includes('javascript')).reduce((sum, it) => sum + it.bytes, 0);
    const bytes = all.reduce((sum, it) => sum + it.bytes, 0);
    sizes.push([name, bytes, scripts]);
    check(scripts > 0 && scripts <= SCRIPT_BYTES_MAX, `${scripts} bytes of scripts`);
    check(bytes > 0 && bytes <= PAGE_BYTES_MAX, `${bytes} bytes: ${JSON.stringify(all)}`);
    await fresh.close();
  });
  await test(`${name}: has its JSON`, async () => {
    const separator = path.includes('?') ? '&' : '?';
    const response = await raw(`${path}${separator}format=json`, { Cookie: cookie });
    check(response.headers['content-type'].startsWith('application/json'), response.headers['content-type']);
    check(response.status === (name === 'missing' ? 404 : 200), `status ${response.status}: ${response.text.slice(0, 200)}`);
    check(JSON.parse(response.text) !== null, 'a document');
  });
}
console.log(sizes.map(([name, bytes, scripts]) => `     ${name}: ${bytes} bytes, scripts ${scripts}`).join('\n'));

await test('hostile text is inert and hidden characters are visible', async () => {
  seen.reset();
  await page.goto(`${origin}/entries?tag=hostile&show=all`);
  check(await page.evaluate(() => window.hacked) === undefined, 'a script ran');
  check(await page.locator('.claim img, .claim script').count() === 0, 'an element was made');
  const text = await page.locator('.rows').innerText();
  check(text.includes('U+202E') && text.includes('U+200B'), 'hidden characters');
  seen.assertQuiet();
});

await test('a saved file changes its note within a second, and the decision is undoable', async () => {
  await page.goto(`${origin}/at/src/pay.rs`);
  const refund = page.locator('.note', { hasText: 'never makes the total negative' });
  check((await refund.innerText()).includes('holds'), 'it holds at first');
  const path = join(REPOSITORY, 'src/pay.rs');
  const before = readFileSync(path, 'utf8');
  const began = Date.now();
  writeFileSync(path, before.replace('saturating_sub(cents)', 'wrapping_sub(cents)'));
  const shows = (verdict) => page.waitForFunction((word) => [...document.querySelectorAll('.note')].some((it) => it.textContent.includes('never makes') && it.textContent.includes(word)), verdict, { timeout: 5000 });
  await shows('code changed');
  console.log(`     verdict after ${Date.now() - began} ms`);
  await refund.locator('.claim').click();
  await page.keyboard.press('y');
  await page.waitForSelector('.notice.done');
  check((await page.locator('.note', { hasText: 'never makes' }).innerText()).includes('holds'), 'still true');
  await page.keyboard.press('z');
  await page.waitForFunction(() => document.querySelector('.notice.done')?.textContent.includes('undone'));
  check((await page.locator('.note', { hasText: 'never makes' }).innerText()).includes('code changed'), 'undone');
  writeFileSync(path, before);
  // Otherwise the next test counts an item that is about to go.
  await shows('holds');
});

await test('the inbox is worked off by keys', async () => {
  // A slow check of the code is repeated in the background.
  const until = Date.now() + 20_000;
  do await page.goto(`${origin}/inbox?lane=changed`); while (await page.locator('.item', { hasText: 'never makes' }).count() && Date.now() < until);
  const items = await page.locator('.item').count();
  check(items >= 2, `${items} items`);
  await page.keyboard.press('j');
  await page.keyboard.press('y');
  await page.waitForSelector('.notice.done');
  check(await page.locator('.item').count() === items - 1, 'one less');
  await page.keyboard.press('z');
  await page.waitForFunction(() => document.querySelector('.notice.done')?.textContent.includes('undone'));
  check(await page.locator('.item').count() === items, 'back again');
});

await test('every page has its keys listed, and they can be turned off', async () => {
  await page.goto(`${origin}/inbox`);
  await page.keyboard.press('?');
  check(await page.locator('dialog[open] kbd').count() > 5, 'keys');
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await page.waitForURL(/\/runs/);
});

await test('single keys can be turned off', async () => {
  await context.addCookies([{ name: 'ken_settings', value: 'system.nokeys', url: origin }]);
  await page.goto(`${origin}/inbox`);
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  check(page.url().endsWith('/inbox'), page.url());
  await context.clearCookies({ name: 'ken_settings' });
});

await test('JSON is what the command line prints', async () => {
  const schema = async (path) => JSON.parse((await raw(path, { Cookie: cookie, Accept: 'application/json' })).text).schema;
  for (const [path, expected] of [[`/e/${ids.charge}`, 'ken.entry.v1'], ['/inbox', 'ken.inbox.v1'], ['/stats', 'ken.stats.v1'], ['/documents', 'ken.audit.v1'], ['/change', 'ken.verify.v1'], ['/brief?task=charge', 'ken.brief.v1']]) {
    check(await schema(path) === expected, `${path}: ${await schema(path)}`);
  }
});

await test('the forager says what it did, what it refused and what waits, and nothing while it is off', async () => {
  await page.goto(`${origin}/forage`);
  const text = (await page.locator('main').innerText()).replace(/\s+/g, ' ');
  for (const it of ['1 of 20 entries proposed today', '1 of 50 entries wait for you', 'a person asked', 'tiny', 'not on this machine', 'has no documents']) check(text.includes(it), `${it}: ${text}`);
  check((await page.locator('tr', { hasText: 'blog.example.org' }).innerText()).includes('distrusted'), 'a decision');
  check(await page.locator('nav.tabs a[href="/forage"]').count() === 1, 'it is in the navigation');
  await page.locator('a', { hasText: 'Open the inbox' }).click();
  await page.waitForURL(/lane=quarantined/);
  check((await page.locator('#items').innerText()).includes('Client::timeout'), 'what waits is in the inbox');
  const settings = join(process.env.KEN_FORAGE, 'forage.toml');
  renameSync(settings, `${settings}.off`);
  try {
    await page.goto(`${origin}/forage`);
    check((await page.locator('#forager').innerText()).includes('The forager is off; to turn it on, create'), 'it says what turns it on');
    await checkAccessibility(page, 'off');
    await page.goto(`${origin}/people`);
    check(await page.locator('a[href="/forage"]').count() === 0, 'it is not in the navigation');
  } finally { renameSync(`${settings}.off`, settings); }
});

await test('what a peer sent waits with every word, beside what is known here', async () => {
  await page.goto(`${origin}/peers`);
  const row = (await page.locator('tbody tr').innerText()).replace(/\s+/g, ' ');
  check(row.includes('SHA256:') && row.includes('fresh'), row);
  check(await page.locator('nav.tabs a[href="/peers"]').count() === 1, 'it is in the navigation');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/peers\/acme/);
  check(await page.locator('.item').count() === 5, 'five entries wait');
  const item = (text) => page.locator('.item', { hasText: text });
  const words = (await item('three attempts').innerText()).replace(/\s+/g, ' ');
  for (const it of ['A fourth attempt found the service down', 'rust/async', 'Polarity none', 'Decay ephemeral', 'May state the opposite of your entry']) check(words.includes(it), `${it}: ${words}`);
  check(await item('three attempts').locator('.compared del', { hasText: 'five' }).count() === 1, 'the words that differ');
  check((await item('hides a slow consumer').innerText()).includes('negative'), 'the polarity');
  check((await item('beat one of sixteen').innerText()).includes('Measured on four cores'), 'what only this kind has');
  check((await item('drop its channel').innerText()).includes('pkg:cargo/tokio@>=1.40'), 'the conditions');
});

await test('every lane of the inbox is counted', async () => {
  await page.goto(`${origin}/inbox`);
  await page.waitForFunction(() => [...document.querySelectorAll('#lanes a')].every((it) => it.querySelector('.count')));
});

await test('the collector of policy violations notices one', async () => {
  seen.reset();
  await page.route(`${origin}/people`, async (route) => {
    // Only browsers resolve the server's name, so the page is read by its address.
    const { status, headers, text } = await raw('/people', { Cookie: cookie });
    delete headers['content-length'];
    await route.fulfill({ status, headers, body: text.replace('<h1>', '<img src=x onerror="pwned(1)"><h1>') });
  });
  await page.goto(`${origin}/people`);
  await page.waitForFunction(() => document.querySelector('img'));
  await page.waitForTimeout(100);
  check(seen.reports.length > 0 && seen.executions.length === 0, 'the policy blocks what escaping would miss');
  await page.unroute(`${origin}/people`);
});

const plain = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1366, height: 850 } });
await plain.addCookies(await context.cookies());
const bare = await plain.newPage();
await test('without scripts, every page reads', async () => {
  for (const [name, path] of Object.entries(pages)) {
    const response = await bare.goto(`${origin}${path}`);
    check(response.status() === (name === 'missing' ? 404 : 200), `${name}: ${response.status()}`);
    check(await bare.locator('main h1').isVisible(), name);
  }
  await bare.goto(`${origin}/at/src/pay.rs`);
  check(await bare.locator('.note').count() >= 3, 'notes');
  check(await bare.locator('.note').first().isVisible(), 'visible');
});

check(!server.errors().includes('panicked'), server.errors());
await finish(browser, server);
