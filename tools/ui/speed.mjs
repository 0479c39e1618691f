// Measures how long pages of `ken ui` take in REPOSITORY, which seed.mjs made. Prints Markdown.
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { chromium, CHROMIUM, cookieHeader, openPage, signIn, startServer } from './harness.mjs';

const { REPOSITORY } = process.env;
const REQUESTS = 60;
// Among 100,000 entries some answers take a minute: fewer requests then.
const WARM_UP_MS = 5_000;
const MEASURED_MS = 20_000;
const SAVES = 40;

const server = await startServer(REPOSITORY);
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
const context = await browser.newContext({ viewport: { width: 1366, height: 850 }, reducedMotion: 'reduce' });
context.setDefaultTimeout(120_000);
const { page } = await openPage(context, server.origin);
await signIn(page, server);
const cookie = await cookieHeader(context);
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const { hostname, port } = new URL(`http://${server.host}`);

/** Sends a request and returns the time until its last byte, in milliseconds. */
const time = (path, body) => new Promise((resolve, reject) => {
  const headers = { Host: server.host, Cookie: cookie };
  if (body) Object.assign(headers, { Origin: `http://${server.host}`, 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': Buffer.byteLength(body) });
  const began = process.hrtime.bigint();
  const request = http.request({ host: hostname, port, path, method: body ? 'POST' : 'GET', agent, headers }, (response) => {
    if (response.statusCode !== 200) reject(new Error(`${path}: ${response.statusCode}`));
    response.on('data', () => {});
    response.on('end', () => resolve(Number(process.hrtime.bigint() - began) / 1e6));
  });
  request.on('error', reject);
  request.end(body);
});
const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
const percentiles = (times) => { const sorted = [...times].sort((a, b) => a - b); return [at(sorted, 0.5), at(sorted, 0.95)]; };
/** CPU time of the server until now, in milliseconds; the clock of Linux counts hundredths of a second. */
const cpu = () => {
  const fields = readFileSync(`/proc/${server.pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
};
const measure = async (path, body) => {
  const bodies = Array.isArray(body) ? body : [body];
  const repeat = async (requests, milliseconds) => {
    const times = [];
    const began = performance.now();
    while (times.length < requests && performance.now() - began < milliseconds) times.push(await time(path, bodies[times.length % bodies.length]));
    return times;
  };
  await repeat(Math.min(bodies.length, 3), WARM_UP_MS);
  const before = cpu();
  const times = await repeat(REQUESTS, MEASURED_MS);
  const [p50, p95] = percentiles(times);
  return { p50, p95, cpu: (cpu() - before) / times.length };
};
const json = (path) => `${path}${path.includes('?') ? '&' : '?'}format=json`;

const entries = JSON.parse(await (await page.goto(`${server.origin}${json('/entries')}`)).text());
const id = JSON.stringify(entries).match(/[A-Z]+-[0-9a-z]{8}/)[0];
const pages = ['/', '/entries', '/entries?q=idempotency+key', '/entries?q=stale+tokens+after+the+third+failure', `/e/${id}`, `/e/${id}/history`, `/e/${id}/near`, '/at/src/pay.rs', '/inbox',
  '/runs', '/runs/id/review-1', '/brief?task=charge+a+customer', '/norms', '/people', '/stats', '/impact', '/documents', '/change', '/health'];
// The lanes that compare all entries are filled in the background; its end is waited for, not measured.
await page.goto(`${server.origin}/inbox`);
// The JSON of a page is the same call of the engine without markup. On a busy machine only CPU time says something.
console.log('| page | p50 ms | p95 ms | CPU ms | CPU ms of its JSON | ratio |\n|---|---|---|---|---|---|');
const row = (name, it, bare) => console.log(`| \`${name}\` | ${it.p50.toFixed(1)} | ${it.p95.toFixed(1)} | ${it.cpu.toFixed(1)} | ${bare ? bare.cpu.toFixed(1) : '–'} | ${bare ? (it.cpu / bare.cpu).toFixed(2) : '–'} |`);
for (const path of pages) {
  const whole = await measure(path);
  row(path.replace(id, 'ID'), whole, await measure(json(path)));
}
const words = 'stale tokens after the third failure'.split('').map((_, n, all) => `q=${encodeURIComponent(all.slice(0, n + 1).join(''))}`);
row('search as you type', await measure('/entries', words));

// A save, until the browser shows the other verdict.
const file = join(REPOSITORY, 'src/pay.rs');
const changed = readFileSync(file, 'utf8');
const unchanged = changed.replace('cents >= 100_000', 'cents >= 1_000');
await page.goto(`${server.origin}/at/src/pay.rs`);
await page.waitForSelector('#notes.ready');
const verdicts = () => page.evaluate(() => document.querySelector('#notes').textContent);
const saves = [];
for (let n = 0; n < SAVES; n++) {
  const before = await verdicts();
  const began = Date.now();
  writeFileSync(file, n % 2 ? changed : unchanged);
  await page.waitForFunction((old) => document.querySelector('#notes').textContent !== old, before, { polling: 20 });
  saves.push(Date.now() - began);
}
const [p50, p95] = percentiles(saves);
console.log(`\nSave to shown verdict, ${SAVES} saves: p50 ${p50} ms, p95 ${p95} ms.`);
await browser.close();
server.close();
