// Performs every action of the pages twice: with the keyboard only, and with scripts disabled.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, chromium, CHROMIUM, cookieHeader, finish, openPage, signIn, startServer, test } from './harness.mjs';

const { ACTIONS_REPOSITORY } = process.env;
const ids = JSON.parse(readFileSync(join(ACTIONS_REPOSITORY, '.git/actions.json'), 'utf8'));
const server = await startServer(ACTIONS_REPOSITORY);
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
const context = await browser.newContext({ viewport: { width: 1366, height: 850 }, reducedMotion: 'reduce' });
context.setDefaultTimeout(20_000);
const { page, seen } = await openPage(context, server.origin);
await signIn(page, server);
const plainContext = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1366, height: 850 } });
plainContext.setDefaultTimeout(20_000);
await plainContext.addCookies(await context.cookies());
const plainPage = await plainContext.newPage();
const cookie = await cookieHeader(context);


/** Moves the focus with Tab until it is on the element. */
async function tabTo(target) {
  const element = await target.elementHandle();
  for (let at = 0; at < 600; at++) {
    if (await page.evaluate((it) => document.activeElement === it, element)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error('the element cannot be reached by Tab');
}

const ways = {
  keys: {
    page,
    async perform(root, step) {
      if (step.open) {
        await tabTo(root.locator('summary', { hasText: new RegExp(`^${step.open}`) }).first());
        await page.keyboard.press('Enter');
      }
      for (const [name, value] of Object.entries(step.fields ?? {})) {
        const field = root.locator(`details[open] [name=${name}], form.form [name=${name}]`).first();
        await tabTo(field);
        const isChoice = await field.evaluate((it) => it.tagName === 'SELECT');
        if (isChoice) await page.keyboard.type(value);
        else {
          await page.keyboard.press('Control+A');
          await page.keyboard.type(value);
        }
      }
      await tabTo(button(root, step));
      await page.keyboard.press('Enter');
    },
  },
  plain: {
    page: plainPage,
    async perform(root, step) {
      if (step.open) await root.locator('summary', { hasText: new RegExp(`^${step.open}`) }).first().click();
      for (const [name, value] of Object.entries(step.fields ?? {})) {
        const field = root.locator(`details[open] [name=${name}], form.form [name=${name}]`).first();
        if (await field.evaluate((it) => it.tagName === 'SELECT')) await field.selectOption(value);
        else await field.fill(value);
      }
      await button(root, step).click();
    },
  },
};
const button = (root, step) => root.locator(step.open ? 'details[open] button[type=submit]' : 'button[type=submit]', { hasText: new RegExp(`^${step.button}`) }).first();

/** Performs a step and returns the notice that follows it. */
async function act(way, step) {
  const { page: it } = ways[way];
  await it.goto(`${server.origin}${step.at}`);
  let root = it.locator(step.within ?? 'main');
  for (const text of step.has ?? []) root = root.filter({ hasText: text });
  await ways[way].perform(root.first(), step);
  const notice = it.locator('.notice.done');
  await notice.waitFor().catch(async (error) => {
    // What the page says instead is the reason.
    const shown = (await it.locator('main').innerText()).slice(0, 600);
    throw new Error(`${it.url()} shows "${shown.replaceAll('\n', ' ')}": ${error.message.split('\n')[0]}`);
  });
  const text = await notice.innerText();
  check(step.says.test(text), `the notice says "${text}"`);
  return text;
}

/** Undoes the last step by the button of its notice: by its key, or by a click. */
async function undo(way) {
  const { page: it } = ways[way];
  if (way === 'keys') await it.keyboard.press('z');
  else await it.locator('.notice.done button').click();
  await it.locator('.notice.done', { hasText: 'undone' }).waitFor();
}

const entry = async (id) => JSON.parse((await server.raw(`/e/${id}`, { Cookie: cookie, Accept: 'application/json' })).text);

for (const way of Object.keys(ways)) {
  const own = ids[way];
  const at = `/e/${own.general}`;
  const of = way === 'keys' ? 'keyboard only' : 'without scripts';
  const step = (name, body) => test(`${of}: ${name}`, body);

  await step('confirm, and undo it', async () => {
    await act(way, { at, button: 'Confirm', says: /confirmed/ });
    const before = (await entry(own.general)).confirmation;
    await undo(way);
    check(JSON.stringify((await entry(own.general)).confirmation) !== JSON.stringify(before), 'the confirmation is gone');
  });
  await step('edit, and undo it', async () => {
    const statement = `The nightly export of ${way} starts at three`;
    await act(way, { at, open: 'Edit', fields: { statement, reason: 'measured' }, button: 'Save', says: /edited/ });
    check((await entry(own.general)).content.statement.includes('three'), 'edited');
    await undo(way);
    check((await entry(own.general)).content.statement.includes('two in the morning'), 'as before');
  });
  await step('cite', () => act(way, { at, open: 'Cite', fields: { citation: 'pr:8' }, button: 'Cite', says: /./ }));
  await step('a refused form keeps what was typed', async () => {
    const it = ways[way].page;
    await it.goto(`${server.origin}${at}`);
    await ways[way].perform(it.locator('main'), { open: 'Cite', fields: { citation: 'nonsense' }, button: 'Cite' });
    await it.locator('[role=alert]').waitFor();
    check(await it.locator('textarea[name=citation]').inputValue() === 'nonsense', 'kept');
    check((await it.locator('h1').innerText()).includes('Nothing was changed'), 'nothing was changed');
  });
  for (const name of ['Pin', 'Mute', 'Mark invalid']) {
    await step(`${name.toLowerCase()}, and switch it off`, async () => {
      await act(way, { at, open: 'More', button: name, says: /./ });
      await act(way, { at, open: 'More', button: `Undo: ${name}`, says: /./ });
    });
  }
  await step('rate', () => act(way, { at, open: 'More', button: 'It helped', says: /./ }));
  await step('set the status', async () => {
    await act(way, { at, open: 'More', fields: { status: 'verified' }, button: 'Set', says: /./ });
    check(JSON.stringify((await entry(own.general)).status).includes('verified'), 'verified');
  });
  await step('link', () => act(way, { at, open: 'More', fields: { to: own.thread }, button: 'Link', says: /./ }));
  await step('archive and restore', async () => {
    await act(way, { at, open: 'More', button: 'Archive', says: /archived/ });
    await act(way, { at, button: 'Restore', says: /restored/ });
  });
  await step('retract and undo', async () => {
    await act(way, { at, open: 'Retract', fields: { note: 'a try' }, button: 'Retract', says: /retracted/ });
    await undo(way);
  });
  await step('promote an entry of a thread', () => act(way, { at: `/e/${own.thread}`, button: 'Promote', says: /./ }));
  await step('add an entry at a line', async () => {
    const statement = `Callers of ${way} pass cents`;
    await act(way, { at: `/add?anchor=src/${way}.rs%23moved`, within: 'main', fields: { statement, citations: 'pr:9' }, button: 'Add', says: /./ });
    check(ways[way].page.url().includes('/e/'), 'the page of the new entry');
  });

  const code = `/at/src/${way}.rs`;
  const note = (name) => ({ at: code, within: '.note', has: [`Function ${name} of ${way}`] });
  await step('at the code: still true, and undo', async () => {
    await act(way, { ...note('accept'), button: 'Still true', says: /./ });
    await undo(way);
    await act(way, { ...note('accept'), button: 'Still true', says: /./ });
  });
  await step('at the code: edit', () => act(way, { ...note('edit'), open: 'Edit', fields: { statement: `Function edit of ${way} adds two` }, button: 'Save', says: /./ }));
  await step('at the code: move the anchor', () => act(way, { ...note('move'), open: 'Move anchor', fields: { to: `src/${way}.rs#moved` }, button: 'Move', says: /./ }));
  await step('in the inbox: retract what the code no longer does', () => act(way, { at: '/inbox?lane=changed', within: '.item', has: [`Function retract of ${way}`], open: 'Retract', button: 'Retract', says: /retracted/ }));

  const card = (lane, ...has) => ({ at: `/inbox?lane=${lane}`, within: '.item', has });
  await step('in the inbox: release from quarantine', () => act(way, { ...card('quarantined', `released claim of ${way}`), open: 'Release', fields: { reason: 'checked by hand' }, button: 'Release', says: /./ }));
  await step('in the inbox: retract what is quarantined', () => act(way, { ...card('quarantined', `dropped claim of ${way}`), open: 'Retract', button: 'Retract', says: /retracted/ }));
  await step('in the inbox: approve a norm', () => act(way, { ...card('approvals', `formatter of ${way}`), open: 'Approve', button: 'Approve', says: /approved/ }));
  await step('in the inbox: accept a claim', () => act(way, { ...card('claims'), button: 'Accept', says: /./ }));
  await step('in the inbox: reject a claim', () => act(way, { ...card('claims'), open: 'Reject', button: 'Reject', says: /rejected/ }));
  await step('in the inbox: keep one of two versions', () => act(way, { ...card('versions', `Invoices of ${way}`), button: 'Keep this version', says: /./ }));
  const topics = { keys: ['checkout form', 'refund queue', 'price cache', 'mail sender'], plain: ['login page', 'search index', 'photo upload', 'audit trail'] }[way];
  const disputes = [['Keep A', {}], ['Keep both', {}], ['Scope each', { first_tag: 'fast', second_tag: 'slow' }], ['Not a contradiction', {}]];
  for (const [at, [label, fields]] of disputes.entries()) {
    await step(`in the inbox: a contradiction, ${label.toLowerCase()}`, async () => {
      await act(way, { ...card('contradictions', topics[at]), open: label, fields, button: label === 'Scope each' ? 'Keep both with tags' : label, says: /./ });
      await ways[way].page.goto(`${server.origin}/inbox?lane=contradictions`);
      check(await ways[way].page.locator('.item', { hasText: topics[at] }).count() === 0, 'it is gone from the inbox');
    });
  }
  for (const [at, label] of ['Merge, keep A', 'A supersedes B', 'Not the same'].entries()) {
    await step(`in the inbox: a duplicate, ${label.toLowerCase()}`, async () => {
      await act(way, { ...card('duplicates', ids[way].duplicates[at][0], ids[way].duplicates[at][1]), open: label, button: label, says: /./ });
      await ways[way].page.goto(`${server.origin}/inbox?lane=duplicates`);
      check(await ways[way].page.locator('.item', { hasText: ids[way].duplicates[at][0] }).count() === 0, 'it is gone from the inbox');
    });
  }
  await step('run a maintenance service', () => act(way, { at: '/health', within: '.card', has: ['Stale'], open: 'Run', button: 'Run now', says: /./ }));
  await step('import the claims of documents', () => act(way, { at: '/documents', button: 'Import claims', says: /inbox/ }));
  await step('revoke a source and end it', async () => {
    const row = { at: '/people', within: 'tr', has: ['agent:codex'] };
    await act(way, { ...row, open: 'Revoke', button: 'Revoke', says: /./ });
    await act(way, { ...row, button: 'End revocation', says: /./ });
  });
  await step('distrust a domain, and reset it', async () => {
    const host = `blog.${way}.example.org`;
    await act(way, { at: '/forage', open: 'Decide about a domain', fields: { host, decision: 'distrust' }, button: 'Decide', says: /is distrusted in this workspace/ });
    check(await ways[way].page.locator('.notice.done button').count() === 0, 'Reset takes it back, and not the notice');
    const row = { at: '/forage', within: 'tr', has: [host] };
    await act(way, { ...row, button: 'Trust', says: /is trusted/ });
    await act(way, { ...row, button: 'Reset', says: /no longer decided/ });
    await ways[way].page.goto(`${server.origin}/forage`);
    check(await ways[way].page.locator('tr', { hasText: host }).count() === 0, 'nothing is decided');
  });
  await step('a refused domain keeps what was typed', async () => {
    const it = ways[way].page;
    await it.goto(`${server.origin}/forage`);
    await ways[way].perform(it.locator('main'), { open: 'Decide about a domain', fields: { host: 'no domain' }, button: 'Decide' });
    await it.locator('[role=alert]').waitFor();
    check(await it.locator('textarea[name=host]').inputValue() === 'no domain', 'kept');
  });
  const peer = `/peers/${way}`;
  const sent = (text) => ({ at: peer, within: '.item', has: [text] });
  await step('approve an entry of a peer', async () => {
    await act(way, { ...sent('three attempts'), open: 'Approve', button: 'Approve', says: /approved 1 entry/ });
    await ways[way].page.goto(`${server.origin}${peer}?lane=approved`);
    check(await ways[way].page.locator('.item').count() === 1, 'it is approved');
    check(await ways[way].page.locator('summary', { hasText: 'Approve' }).count() === 0, 'nothing is approved twice');
  });
  await step('reject an entry of a peer', () => act(way, { ...sent('slow consumer'), open: 'Reject', button: 'Reject', says: /rejected .* trust/ }));
  await step('approve what is ticked, and nothing without a tick', async () => {
    const it = ways[way].page;
    await it.goto(`${server.origin}${peer}`);
    await ways[way].perform(it.locator('main'), { button: 'Approve the ticked' });
    await it.locator('[role=alert]').waitFor();
    await it.goto(`${server.origin}${peer}`);
    const tick = it.locator('.item', { hasText: 'drop its channel' }).locator('[type=checkbox]');
    if (way === 'keys') { await tabTo(tick); await it.keyboard.press('Space'); } else await tick.check();
    await ways[way].perform(it.locator('main'), { button: 'Approve the ticked' });
    await it.locator('.notice.done', { hasText: 'approved 1 entry' }).waitFor();
    check(await it.locator('.item', { hasText: 'drop its channel' }).count() === 0, 'it waits no longer');
    check(await it.locator('.item').count() === 2, 'the others wait');
  });
  await step('approve all of a page', async () => {
    await act(way, { at: peer, open: 'Approve all', button: 'Approve all', says: /approved 2 entries/ });
    check((await ways[way].page.locator('.empty').innerText()).includes('Nothing of this peer waits'), 'nothing waits');
  });
  await step('suspend a peer, and resume it', async () => {
    await act(way, { at: peer, open: 'Suspend', button: 'Suspend', says: /suspended/ });
    await act(way, { at: peer, open: 'Resume', button: 'Resume', says: /resumed/ });
  });
  await step('change the settings', async () => {
    const it = ways[way].page;
    await it.goto(`${server.origin}/settings`);
    if (way === 'keys') {
      await tabTo(it.locator('[name=theme]:checked'));
      await it.keyboard.press('ArrowDown');
      await it.keyboard.press('ArrowDown');
    } else await it.locator('[name=theme][value=dark]').check();
    const save = it.locator('main button[type=submit]').first();
    if (way === 'keys') { await tabTo(save); await it.keyboard.press('Enter'); } else await save.click();
    await it.locator('html[data-theme=dark]').waitFor({ state: 'attached' });
  });
}

await test('the ledger is intact after all decisions', async () => {
  execFileSync(process.env.KEN, ['doctor'], { cwd: ACTIONS_REPOSITORY, encoding: 'utf8' });
  seen.assertQuiet((it) => it.includes('422'));
  check(!server.errors().includes('panicked'), server.errors());
});
await finish(browser, server);
