// Browser tests of `ken serve`: sign-in by an identity provider, work of curators and admins. Tests wait for conditions, never
// for time.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import http from 'node:http';
import net from 'node:net';
import { personEnvironment } from './environment.mjs';
import { publish } from './publication.mjs';
import { check, checkAccessibility, checkHtml, chromium, CHROMIUM, finish, KEN, SHOTS, test } from './harness.mjs';

const { WORK, DATABASE_URL } = process.env;
const here = dirname(fileURLToPath(import.meta.url));
const PAGE_BYTES_MAX = 60_000;

const freePort = () => new Promise((resolve) => {
  const server = net.createServer();
  server.listen(0, '127.0.0.1', () => { const { port } = server.address(); server.close(() => resolve(port)); });
});
const env = { ...personEnvironment, KEN_DATABASE_URL: DATABASE_URL };
function ken(args, options = {}) {
  const done = spawnSync(KEN, args, { env, encoding: 'utf8', ...options });
  check(done.status === 0, `ken ${args.join(' ')}: ${done.stdout}${done.stderr}`);
  return done.stdout.trim();
}
function start(program, args, ready, options = {}) {
  const child = spawn(program, args, { env: { ...env, ...options.env }, cwd: options.cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  process.on('exit', () => child.kill());
  return new Promise((resolve, reject) => {
    let text = '';
    const read = (data) => { text += data; if (process.env.VERBOSE) process.stderr.write(data); if (ready.test(text)) resolve({ child, text: () => text }); };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('exit', (code) => reject(new Error(`${program} ended with ${code}: ${text}`)));
  });
}

// The hub, its organization and its identity provider.
const [port, providerPort] = [await freePort(), await freePort()];
const origin = `http://127.0.0.1:${port}`;
const issuer = `http://127.0.0.1:${providerPort}`;
ken(['hub', 'migrate']);
ken(['hub', 'organization', 'add', 'acme']);
ken(['hub', 'workspace', 'add', 'acme', 'shop']);
ken(['hub', 'workspace', 'add', 'acme', 'billing']);
ken(['hub', 'workspace', 'add', 'acme', 'large']);
const secretOf = (role, actor) => /ken_[0-9a-z]{32}/.exec(ken(['hub', 'token', 'create', 'acme', '--role', role, '--actor', actor]))[0];
const agentToken = secretOf('agent', 'agent:reviewer');
const personToken = secretOf('member', 'human:mel@example.org');
const provider = await start(process.execPath, [join(here, 'provider/provider.mjs'), providerPort, `${origin}/sign-in/callback`, `${origin}/sign-in/logout`], /listening/);
writeFileSync(join(WORK, 'secret'), 'hub secret & more\n');
const hub = await start(KEN, ['serve', '--bind', `127.0.0.1:${port}`, '--public-url', origin, '--oidc-issuer', issuer, '--oidc-audience', 'ken-hub',
  '--oidc-organization', 'acme', '--oidc-person-claim', 'email', '--oidc-roles-claim', 'roles', '--oidc-role', 'curator=curator', '--oidc-role', 'admin=admin',
  '--oidc-role', 'member=member', '--oidc-role', 'reader=reader', '--oidc-client-id', 'ken-hub', '--oidc-client-secret-file', join(WORK, 'secret')], /listening/);

const api = (method, path, body, token = agentToken) => new Promise((resolve, reject) => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const request = http.request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
    let text = '';
    response.on('data', (data) => { text += data; });
    response.on('end', () => resolve({ status: response.statusCode, text }));
  });
  request.on('error', reject);
  request.end(body && JSON.stringify(body));
});
const entry = (statement, more = {}) => ({ statement, kind: 'learning', cites: ['pr:7'], ...more });
const seed = [
  ['shop', entry('A refund never makes the total negative, because charges are capped first.', { tags: ['payments'] })],
  ['shop', entry('Retries of a charge carry the idempotency key of the first attempt.', { tags: ['payments/retries'], anchors: ['src/pay.rs#charge'] })],
  ['billing', entry('An invoice is written after the charge is settled.', { tags: ['payments'] })],
  ['shop', entry('<img src=x onerror=alert(1)> <script>alert(2)</script> \u202e hostile', { tags: ['hostile'] })],
  ['shop', entry('Run the database migrations before the tests of the payment service.', { kind: 'commit-norm' })],
];
// What another organization published, and the same once more to decide about without scripts.
for (const name of ['northwind', 'plain']) {
  const { folder, fingerprint } = publish(KEN, join(WORK, name));
  ken(['hub', 'peer', 'add', 'acme', name, folder, '--key', fingerprint], { env: { ...env, KEN_ACTOR: 'human:olga' } });
  ken(['hub', 'peer', 'pull', 'acme', name]);
}
const made = [];
for (const [workspace, body] of seed) made.push(await api('POST', `/v1/workspaces/${workspace}/entries`, body));
await test('agents record entries', async () => {
  for (const answer of made) check([200, 201].includes(answer.status), answer.text);
});

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
const problems = [];
async function newPerson() {
  const context = await browser.newContext({ viewport: { width: 1366, height: 850 }, reducedMotion: 'reduce' });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type()) && page.url().startsWith(origin)) problems.push(`${page.url()} ${message.text()}`); });
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('dialog', (dialog) => { problems.push(`dialog ${dialog.message()}`); dialog.dismiss(); });
  return { context, page };
}
async function signIn(page, account, target = '/') {
  await page.goto(`${origin}${target}`);
  await page.waitForURL(/\/sign-in\?target=/);
  await page.click('text=Sign in with your organization');
  await page.waitForURL((url) => url.href.startsWith(issuer));
  await page.fill('input[name=login]', account);
  await page.fill('input[name=password]', 'any');
  await page.click('button[type=submit]');
  // The consent of the test provider.
  await page.waitForSelector('text=Authorize');
  await page.click('button[type=submit]');
  await page.waitForURL((url) => url.href.startsWith(origin));
}
// Contrast depends on the theme and layout on the width, so two combinations cover both.
async function audit(page, name) {
  for (const [theme, width] of [['light', 1366], ['dark', 390]]) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height: 850 });
    await checkAccessibility(page, `${name} ${theme} ${width}`);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(overflow <= 0, `${name} ${theme} ${width}: the page is ${overflow} px wider than the screen`);
    if (SHOTS) await page.screenshot({ path: join(SHOTS, `hub-${name}-${theme}-${width}.png`), fullPage: width === 1366 });
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await page.setViewportSize({ width: 1366, height: 850 });
}

const curator = await newPerson();
await test('a curator signs in by the identity provider and returns to the page', async () => {
  await signIn(curator.page, 'curator+cur@example.org', '/w/shop/entries');
  check(new URL(curator.page.url()).pathname === '/w/shop/entries', curator.page.url());
  const cookies = await curator.context.cookies(origin);
  const session = cookies.find((it) => it.name === 'ken_hub');
  check(session?.httpOnly && session.sameSite === 'Lax', JSON.stringify(session));
  check(!cookies.some((it) => it.name.endsWith('_flow') && it.value), 'the cookie of the flow is gone');
});
await test('the list has facets, and search answers', async () => {
  const { page } = curator;
  // The other two wait for a curator.
  check(await page.locator('.row').count() === 2, `rows: ${await page.locator('.row').count()}`);
  check(await page.locator('.facet').count() >= 2, 'facets');
  await page.keyboard.press('/');
  await page.keyboard.type('idempotency key of a retried charge', { delay: 5 });
  await page.waitForFunction(() => document.querySelector('.row .claim')?.textContent.includes('idempotency key'));
  await page.goto(`${origin}/search?q=charge`);
  const text = await page.locator('main').innerText();
  check(text.includes('shop') && text.includes('billing'), text);
});
let norm;
await test('a curator approves a norm that an agent wrote', async () => {
  const { page } = curator;
  await page.goto(`${origin}/w/shop/inbox`);
  const item = page.locator('.item', { hasText: 'database migrations' }).filter({ has: page.locator('button', { hasText: 'Approve' }) });
  check(await item.count() === 1, await page.locator('main').innerText());
  norm = await item.locator('.id').first().innerText();
  await audit(page, 'inbox');
  await item.locator('button', { hasText: 'Approve' }).click();
  await page.waitForSelector('#notice .done');
  check((await page.locator('#notice').innerText()).includes(`${norm} is approved`), 'the notice');
});
await test('revoking shows its effect first', async () => {
  const { page } = curator;
  await page.goto(`${origin}/revocation?source=agent:reviewer`);
  const effect = await page.locator('#effect').innerText();
  check(/2 workspaces touched[\s\S]*\b[4-5] live entries/.test(effect.replace(/\s+/g, ' ')), effect);
  await audit(page, 'revocation');
  const before = JSON.parse((await api('POST', '/v1/search', { query: 'idempotency key charge' })).text);
  check(before.results.length > 0, 'found before');
  await page.locator('#effect button[type=submit]').click();
  await page.waitForSelector('#results');
  check((await page.locator('#results').innerText()).includes('shop: changed'), 'changed');
  const after = JSON.parse((await api('POST', '/v1/search', { query: 'idempotency key charge' })).text);
  check(after.results.length === 0, 'hidden afterwards');
  await page.goto(`${origin}/revocation?source=agent:reviewer&end=on`);
  await page.locator('#effect button[type=submit]').click();
  await page.waitForSelector('#results');
});
await test('a curator decides about the entries of a peer with the keyboard', async () => {
  const { page } = curator;
  await page.goto(`${origin}/`);
  check(await page.locator('nav.main a[href="/peers"]').count() === 1, 'it is in the navigation');
  await page.goto(`${origin}/peers`);
  check((await page.locator('tbody').innerText()).includes('SHA256:'), 'the fingerprint');
  await page.goto(`${origin}/peers/northwind`);
  const words = (await page.locator('.item', { hasText: 'three attempts' }).innerText()).replace(/\s+/g, ' ');
  for (const it of ['A fourth attempt found the service down', 'rust/async', 'Polarity none', 'Decay ephemeral', 'first seen']) check(words.includes(it), `${it}: ${words}`);
  await audit(page, 'peer');
  const foreign = async () => JSON.parse((await api('POST', '/v1/workspaces/shop/search', { query: 'set the timeout of a connection' })).text).peers ?? [];
  check((await foreign()).length === 0, 'nobody approved it');
  // The first item that `j` holds is the first on the page.
  const first = await page.locator('.item .id').first().innerText();
  await page.keyboard.press('j');
  await page.keyboard.press('y');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#notice .done');
  check((await page.locator('#notice').innerText()).includes('Approved 1 of northwind'), 'the notice');
  await page.goto(`${origin}/peers/northwind?lane=approved`);
  check((await page.locator('.item .id').allInnerTexts()).join() === first, 'it is approved');
  await page.goto(`${origin}/peers/northwind`);
  await page.keyboard.press('j');
  await page.keyboard.press('n');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#notice .done');
  check((await page.locator('#notice').innerText()).includes('is rejected'), 'rejected');
  await page.locator('summary', { hasText: 'Approve all 3' }).click();
  await page.locator('button', { hasText: 'Approve all' }).click();
  await page.waitForSelector('.empty');
  await page.goto(`${origin}/peers/northwind?lane=approved`);
  check(await page.locator('.item').count() === 4, 'all but one are approved');
  check((await page.locator('.item').allInnerTexts()).join().includes('timeout') === ((await foreign()).length > 0), 'searches show what is approved');
});
await test('without scripts a curator ticks entries of a peer', async () => {
  const plain = await browser.newContext({ javaScriptEnabled: false });
  await plain.addCookies(await curator.context.cookies());
  const page = await plain.newPage();
  await page.goto(`${origin}/peers/plain`);
  for (const at of [0, 2]) await page.locator('.item [type=checkbox]').nth(at).check();
  await page.locator('button', { hasText: 'Approve the ticked' }).click();
  check((await page.locator('#notice').innerText()).includes('Approved 2 of plain'), 'two');
  check(await page.locator('.item').count() === 3, 'the others wait');
  await page.locator('.item summary', { hasText: 'Reject' }).first().click();
  await page.locator('details[open] button', { hasText: 'Reject' }).click();
  check((await page.locator('#notice').innerText()).includes('is rejected'), 'rejected');
  await plain.close();
});
await test('a curator sees no pages of admins', async () => {
  const { page } = curator;
  for (const path of ['/tokens', '/audit']) {
    const response = await page.goto(`${origin}${path}`);
    check(response.status() === 403, `${path}: ${response.status()}`);
    check(await page.locator(`a[href="${path}"]`).count() === 0, `no link to ${path}`);
  }
  problems.length = 0; // The two refusals above.
});

const admin = await newPerson();
await test('an admin manages tokens and reads the audit log', async () => {
  const { page } = admin;
  await signIn(page, 'admin+ada@example.org', '/tokens');
  await page.click('summary:has-text("Create a token")');
  await page.fill('input[name=name]', 'night build');
  await page.selectOption('select[name=role]', 'agent');
  await page.click('form[action="/tokens/create"] button[type=submit]');
  const secret = await page.locator('#secret code').innerText();
  check((await api('GET', '/v1/workspaces', undefined, secret)).status === 200, 'the secret works');
  await page.goto(`${origin}/tokens`);
  check(!(await page.content()).includes(secret), 'shown once');
  await audit(page, 'tokens');
  const row = page.locator('tr', { hasText: 'night build' });
  await row.locator('summary', { hasText: 'Revoke' }).click();
  await row.locator('form[action="/tokens/revoke"] button').click();
  await page.waitForSelector('#notice .done');
  check((await api('GET', '/v1/workspaces', undefined, secret)).status === 401, 'revoked');
  await page.goto(`${origin}/audit?act=person.signed_in`);
  check(await page.locator('tbody tr').count() === 2, 'two sign-ins');
  await audit(page, 'audit');
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Export CSV')]);
  const csv = readFileSync(await download.path(), 'utf8');
  check(csv.startsWith('id,at,by') && csv.trim().split('\n').length === 3, csv);
});
await test('a clone pushes two thousand entries', async () => {
  const clone = join(WORK, 'large');
  const seeded = spawnSync(process.execPath, [join(here, 'seed.mjs'), KEN, clone], { encoding: 'utf8' });
  check(seeded.status === 0, seeded.stderr);
  writeFileSync(join(WORK, 'token'), secretOf('member', 'human:ada@example.org'), { mode: 0o600 });
  ken(['remote', 'add', `${origin}/large`, '--token-file', join(WORK, 'token')], { cwd: clone });
  ken(['push'], { cwd: clone });
});
const pages = { start: '/', search: '/search?q=charge', review: '/review', account: '/account', device: '/device', peers: '/peers', 'peer-waiting': '/peers/plain', 'peer-approved': '/peers/northwind?lane=approved' };
const workspacePages = { home: '', entries: 'entries', found: 'entries?q=stale+tokens', add: 'add', inbox: 'inbox', runs: 'runs', brief: 'brief?task=charge',
  impact: 'impact', health: 'health', stats: 'stats', norms: 'norms', people: 'people', settings: 'settings' };
await test('every page renders in light and dark, is accessible, valid, small, and stays at home', async () => {
  const { page, context } = admin;
  problems.length = 0;
  for (const workspace of ['shop', 'large']) {
    await page.goto(`${origin}/w/${workspace}/entries`);
    const id = await page.locator('.row .id').first().innerText();
    for (const [name, path] of Object.entries({ ...workspacePages, entry: `e/${id}`, history: `e/${id}/history`, near: `e/${id}/near` })) pages[`${workspace}-${name}`] = `/w/${workspace}/${path}`;
  }
  await page.goto(`${origin}/w/large/entries`);
  check(await page.locator('.row').count() === 50, `rows: ${await page.locator('.row').count()}`);
  const total = Number((await page.locator('#total').innerText()).replace(/\D/g, ''));
  check(total >= 1_900, `${total} entries`);
  const sizes = [];
  for (const [name, path] of Object.entries(pages)) {
    const response = await page.goto(`${origin}${path}`);
    check(response.status() === 200, `${path}: ${response.status()}`);
    await checkHtml(await response.text(), name);
    await audit(page, name);
    // A first visit, over the wire.
    const fresh = await browser.newContext();
    await fresh.addCookies(await context.cookies());
    const first = await fresh.newPage();
    await first.goto(`${origin}${path}`, { waitUntil: 'load' });
    const loaded = await first.evaluate(() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].map((it) => [it.name, it.transferSize]));
    const outside = loaded.filter(([url]) => !url.startsWith(origin));
    check(outside.length === 0, `${path} asks ${outside}`);
    const bytes = loaded.reduce((sum, [, size]) => sum + size, 0);
    check(bytes > 0 && bytes <= PAGE_BYTES_MAX, `${path}: ${bytes} bytes`);
    sizes.push(bytes);
    await fresh.close();
  }
  console.log(`     ${sizes.length} pages of at most ${Math.max(...sizes)} bytes`);
  check(problems.length === 0, problems.join('\n'));
});
await test('without scripts, every page reads', async () => {
  const plain = await browser.newContext({ javaScriptEnabled: false });
  await plain.addCookies(await admin.context.cookies());
  const page = await plain.newPage();
  for (const [name, path] of Object.entries(pages)) {
    const response = await page.goto(`${origin}${path}`);
    check(response.status() === 200 && await page.locator('main h1').isVisible(), `${name}: ${response.status()}`);
  }
  await plain.close();
});
await test('hostile text stays text', async () => {
  const { page } = admin;
  problems.length = 0;
  await page.goto(`${origin}/w/shop/inbox`);
  const item = page.locator('.item', { hasText: 'hostile' });
  check((await item.locator('.claim').first().innerText()).includes('<img src=x'), 'shown as text');
  check(await item.locator('.hid').count() === 1, 'the hidden character is shown');
  await item.locator('.id').first().click();
  await page.waitForSelector('main .claim');
  check(await page.locator('main img, main script').count() === 0, 'no element');
  check(problems.length === 0, problems.join('\n'));
});

await test('a token signs a person in, and a device gets its own', async () => {
  const { page } = await newPerson();
  await page.goto(`${origin}/sign-in`);
  await page.click('summary');
  await page.fill('input[name=token]', personToken);
  await page.click('form[action="/sign-in"] button');
  await page.waitForURL(`${origin}/`);
  const clone = join(WORK, 'clone');
  mkdirSync(clone);
  for (const args of [['init', '-q'], ['config', 'user.email', 'mel@example.org'], ['config', 'user.name', 'Mel'], ['commit', '-q', '--allow-empty', '-m', 'x']]) spawnSync('git', args, { cwd: clone });
  ken(['init'], { cwd: clone });
  const login = await start(KEN, ['remote', 'login', `${origin}/shop`], /confirm the code (\S+)/, { cwd: clone });
  const ended = new Promise((resolve) => login.child.on('exit', resolve));
  const code = /confirm the code (\S+)/.exec(login.text())[1];
  await page.goto(`${origin}/device`);
  await page.fill('input[name=code]', code);
  await page.click('main button[type=submit]');
  await page.click('text=Confirm >> nth=-1');
  await page.waitForSelector('text=The device is signed in');
  check(await ended === 0, login.text());
  check(login.text().includes('signed in to') && login.text().includes('human:mel@example.org'), login.text());
  ken(['sync', '--remote', 'hub'], { cwd: clone });
});
await test('without scripts a curator signs in, reads and decides', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${origin}/sign-in`);
  await page.click('summary');
  await page.fill('input[name=token]', personToken);
  await page.click('form[action="/sign-in"] button');
  await page.goto(`${origin}/w/shop/entries?tag=payments`);
  await page.click('.row a.open >> nth=0');
  await page.click('text=Confirm');
  check((await page.locator('#notice').innerText()).includes('is changed'), 'confirmed');
});
function sql(text) {
  const done = spawnSync(join(process.env.PGBIN, 'psql'), [DATABASE_URL, '-c', text], { encoding: 'utf8' });
  check(done.status === 0, done.stderr);
}
await test('the identity provider is asked again, and ends a sign-in it no longer knows', async () => {
  const { page } = await newPerson();
  await signIn(page, 'member+eve@example.org', '/account');
  for (const _ of [1, 2]) {
    sql("update ken.sign_ins set checked_at = checked_at - 600000");
    await page.goto(`${origin}/account`);
    check(new URL(page.url()).pathname === '/account', `still signed in: ${page.url()}`);
  }
  await fetch(`${issuer}/control/disable?account=${encodeURIComponent('member+eve@example.org')}`, { method: 'POST' });
  sql("update ken.sign_ins set checked_at = checked_at - 600000");
  await page.goto(`${origin}/account`);
  check(page.url().startsWith(`${origin}/sign-in`), page.url());
});
await test('the identity provider ends a sign-in at once', async () => {
  const { page } = admin;
  await page.goto(`${origin}/account`);
  await page.goto(`${issuer}/session/end`);
  await page.click('button[name=logout]');
  await page.waitForSelector('text=Sign-out Success');
  await page.goto(`${origin}/account`);
  check(page.url().startsWith(`${origin}/sign-in`), page.url());
});
await test('a person without a role is not signed in', async () => {
  const { page } = await newPerson();
  await signIn(page, 'nobody+eve@example.org');
  check((await page.locator('[role=alert]').innerText()).includes('no role'), page.url());
});
await test('signing out ends the session', async () => {
  const { page, context } = curator;
  await page.goto(`${origin}/account`);
  const old = await context.cookies(origin);
  await page.click('form[action="/sign-out"] >> nth=0 >> button');
  await page.waitForURL(/\/sign-in/);
  await context.addCookies(old);
  await page.goto(`${origin}/account`);
  check(page.url().startsWith(`${origin}/sign-in`), 'an old cookie is of no use');
});

hub.child.removeAllListeners('exit');
provider.child.removeAllListeners('exit');
await finish(browser, { close: () => hub.child.kill() }, { close: () => provider.child.kill() });
