// Starts `ken ui` and Chromium for the tests. Tests wait for conditions, never for time.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import http from 'node:http';
import { personEnvironment } from './environment.mjs';

export const { KEN, UI_TOOLS, SHOTS, CHROMIUM } = process.env;
const require = createRequire(join(UI_TOOLS, 'package.json'));
export const { chromium } = require('playwright-core');
const { HtmlValidate } = require('html-validate');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
if (SHOTS) mkdirSync(SHOTS, { recursive: true });

const failed = [];
let passed = 0;

export async function test(name, body) {
  const began = Date.now();
  try {
    await body();
    passed++;
    console.log(`ok   ${name} (${Date.now() - began} ms)`);
  } catch (error) {
    failed.push(name);
    console.log(`FAIL ${name}\n     ${String(error.stack ?? error).split('\n').slice(0, 5).join('\n     ')}`);
  }
}

export function check(condition, message) { if (!condition) throw new Error(message); }

export async function finish(...resources) {
  for (const it of resources) await it.close();
  console.log(`\n${passed} passed, ${failed.length} failed`);
  process.exit(failed.length ? 1 : 0);
}

/** Starts `ken ui` in a repository. */
export async function startServer(repository, ...args) {
  const process_ = spawn(KEN, ['ui', '--no-open', ...args], { cwd: repository, env: personEnvironment, stdio: ['ignore', 'pipe', 'pipe'] });
  process.on('exit', () => process_.kill());
  let errors = '';
  process_.stderr.on('data', (data) => { errors += data; });
  const link = await new Promise((resolve, reject) => {
    let text = '';
    process_.stdout.on('data', (data) => { text += data; const found = /http:\/\/\S+/.exec(text); if (found) resolve(found[0]); });
    process_.on('exit', (code) => reject(new Error(`ken ui ended with ${code}: ${errors}`)));
  });
  const { origin, port } = new URL(link);
  const host = `127.0.0.1:${port}`;
  const raw = (path, headers = {}, method = 'GET', body) => new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, path, method, headers: { Host: host, ...headers } }, (response) => {
      let text = '';
      response.on('data', (data) => { text += data; });
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    request.on('error', reject);
    if (body) request.write(body);
    request.end();
  });
  return { link, origin, host, pid: process_.pid, raw, errors: () => errors, close: () => { process_.removeAllListeners('exit'); process_.kill(); } };
}

/**
 * Opens a page that collects whatever must not happen: console errors, violations of the content
 * security policy, executed payloads (they call `pwned`), dialogs, requests to other origins.
 */
export async function openPage(context, origin) {
  const page = await context.newPage();
  const seen = { problems: [], reports: [], executions: [], foreign: [], requests: [], bytes: 0 };
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) seen.problems.push(message.text()); });
  page.on('pageerror', (error) => seen.problems.push(String(error)));
  page.on('dialog', async (dialog) => { seen.executions.push(`dialog ${dialog.message()}`); await dialog.dismiss(); });
  page.on('request', (request) => {
    seen.requests.push(request.url());
    if (!request.url().startsWith(origin)) seen.foreign.push(request.url());
  });
  await page.exposeFunction('pwned', (what) => { seen.executions.push(String(what)); });
  await page.exposeFunction('kenCspReport', (report) => { seen.reports.push(report); });
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      window.kenCspReport(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  // Transferred bytes of everything, as they come over the wire.
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.enable');
  const sizes = new Map();
  devtools.on('Network.responseReceived', ({ requestId, response }) => sizes.set(requestId, { url: response.url, type: response.mimeType, bytes: 0 }));
  devtools.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => { const it = sizes.get(requestId); if (it) it.bytes = encodedDataLength; });
  seen.transfer = () => [...sizes.values()];
  seen.reset = () => {
    for (const list of [seen.problems, seen.reports, seen.executions, seen.foreign, seen.requests]) list.length = 0;
    sizes.clear();
  };
  seen.assertQuiet = (allowed = () => false) => {
    const problems = seen.problems.filter((it) => !allowed(it));
    check(problems.length === 0, `console: ${problems.join('; ')}`);
    check(seen.reports.length === 0, `policy violations: ${seen.reports.join('; ')}`);
    check(seen.executions.length === 0, `executed: ${seen.executions.join('; ')}`);
    check(seen.foreign.length === 0, `requests to others: ${seen.foreign.join(' ')}`);
  };
  return { page, seen };
}

/** Fails on a violation that axe calls serious or critical. */
export async function checkAccessibility(page, where) {
  await page.evaluate(axe);
  const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const grave = result.violations.filter((it) => ['serious', 'critical'].includes(it.impact));
  check(grave.length === 0, `${where}: ${grave.map((it) => `${it.id} ${it.nodes[0].html.slice(0, 160)} ${it.nodes[0].failureSummary}`).join('; ')}`);
}

// The rules of the standard; what is left to taste is off, and Trusted Types need no `integrity`.
const validator = new HtmlValidate({
  extends: ['html-validate:standard'],
  rules: { 'no-inline-style': 'error', 'long-title': 'off', 'require-sri': 'off', 'no-implicit-button-type': 'error' },
});

/** Fails on HTML that is not valid. */
export async function checkHtml(text, where) {
  const report = await validator.validateString(text);
  const messages = report.results.flatMap((it) => it.messages);
  check(report.valid, `${where}: ${messages.slice(0, 4).map((it) => `${it.line}:${it.column} ${it.ruleId} ${it.message}`).join('; ')}`);
}

/** Follows the one-time link, which sets the cookie. */
export async function signIn(page, server) {
  await page.goto(server.link);
  await page.waitForSelector('nav.main');
}

export async function cookieHeader(context) {
  return (await context.cookies()).map((it) => `${it.name}=${it.value}`).join('; ');
}
