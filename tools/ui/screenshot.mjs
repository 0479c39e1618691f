// Makes the screenshot of the README: `node screenshot.mjs FILE`, with REPOSITORY made by seed.mjs.
import { chromium, CHROMIUM, openPage, signIn, startServer } from './harness.mjs';

const [file] = process.argv.slice(2);
const server = await startServer(process.env.REPOSITORY);
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
const context = await browser.newContext({ viewport: { width: 1366, height: 820 }, reducedMotion: 'reduce', colorScheme: 'light' });
const { page } = await openPage(context, server.origin);
await signIn(page, server);
await page.goto(`${server.origin}/at/src/pay.rs`);
await page.waitForSelector('#notes.ready');
await page.locator('.note').first().locator('.claim').click();
await page.evaluate(() => scrollTo(0, 0));
await page.screenshot({ path: file });
await browser.close();
server.close();
