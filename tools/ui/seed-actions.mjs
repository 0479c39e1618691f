// Makes a small repository in which everything that a person can decide waits twice, once for each
// way to decide it: `node seed-actions.mjs KEN FOLDER`. Writes the ids to FOLDER/.git/actions.json.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { personEnvironment } from './environment.mjs';

const [ken, folder] = process.argv.slice(2);
mkdirSync(join(folder, 'src'), { recursive: true });
const run = (program, ...args) => execFileSync(program, args, { cwd: folder, env: personEnvironment, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const git = (...args) => run('git', '-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args);
const add = (...args) => run(ken, 'add', '--cite', 'pr:7', ...args).trim().split('\n')[0].split(' ')[0];
const WAYS = ['keys', 'plain'];
const steps = ['accept', 'edit', 'move', 'retract'];

const code = (way, sum) => [...steps, 'moved'].map((name) => `/// Step ${name} of ${way}.\npub fn ${name}(input: u64) -> u64 {\n    input + ${sum}\n}\n`).join('\n');
for (const way of WAYS) writeFileSync(join(folder, `src/${way}.rs`), code(way, 1));
writeFileSync(join(folder, 'CLAUDE.md'), '# Rules\n\n- Always run `make check` before you push.\n- Keep every migration reversible.\n- Write a changelog line for every change of the API.\n- Name test files after the module they test.\n');
git('init', '--quiet', '--initial-branch=main');
git('config', 'user.name', 'Ada');
git('config', 'user.email', 'ada@example.org');
git('add', '.');
git('commit', '--quiet', '-m', 'Start');
run(ken, 'init');

const topics = {
  keys: ['checkout form', 'refund queue', 'price cache', 'mail sender'],
  plain: ['login page', 'search index', 'photo upload', 'audit trail'],
};
const repeated = {
  keys: ['Sessions live in Redis and expire after thirty minutes', 'The mail template is compiled once when the worker starts', 'Prices are rounded after the discount and never before'],
  plain: ['Thumbnails are cut by the upload service and not by the browser', 'A search falls back to plain words when the index is rebuilt', 'The audit table has no foreign keys so that it can be archived'],
};
const ids = {};
for (const way of WAYS) {
  const it = ids[way] = {};
  it.general = add('--kind', 'learning', '--statement', `The nightly export of ${way} starts at two in the morning`);
  it.other = add('--kind', 'decision', '--statement', `Invoices of ${way} are numbered per calendar year`);
  it.thread = add('--kind', 'learning', '--scope', 'thread', '--thread', `work-${way}`, '--statement', `A thread of ${way} found that the webhook arrives twice`);
  for (const step of steps) it[step] = add('--kind', 'learning', '--anchor', `src/${way}.rs#${step}`, '--statement', `Function ${step} of ${way} adds exactly one to its input`);
  it.quarantined = ['released', 'dropped'].map((name) => {
    const id = add('--kind', 'learning', '--statement', `The ${name} claim of ${way} came from an unknown fork`);
    run(ken, 'guard', 'quarantine', 'add', id, '--reason', 'not reviewed');
    return id;
  });
  it.contradictions = topics[way].map((topic, at) => {
    const pair = [['positive', `Retry the ${topic} at once after a failure`], ['negative', `Never retry the ${topic} before a minute has passed`]];
    return pair.map(([polarity, statement]) => {
      const id = add('--kind', 'learning', '--tag', `${way}-${at}`, '--polarity', polarity, '--statement', statement);
      run(ken, 'entry', 'status', id, 'verified');
      return id;
    });
  });
  it.duplicates = repeated[way].map((statement) => ['', '.'].map((end) => add('--kind', 'learning', '--statement', statement + end)));
  const source = add('--kind', 'learning', '--statement', `The formatter of ${way} runs in the build`);
  it.norm = run(ken, 'entry', 'promote', source, '--to', 'procedural', '--as', 'commit-norm', '--statement', `Run the formatter of ${way} before committing.`, '--by', 'agent:codex').trim().split('\n')[0].split(' ')[0];
}
run(ken, 'import', '--review');
git('add', '.');
git('commit', '--quiet', '-m', 'Knowledge');

// Two branches word one entry differently.
git('checkout', '--quiet', '-b', 'topic');
for (const way of WAYS) run(ken, 'edit', ids[way].other, '--statement', `Invoices of ${way} are numbered per fiscal year`);
git('add', '.');
git('commit', '--quiet', '-m', 'Wording of the topic');
git('checkout', '--quiet', 'main');
for (const way of WAYS) run(ken, 'edit', ids[way].other, '--statement', `Invoices of ${way} are numbered per month`, '--by', 'human:bob');
git('add', '.');
git('commit', '--quiet', '-m', 'Wording of main');
git('merge', '--quiet', '-X', 'ours', '-m', 'Merge', 'topic');

for (const way of WAYS) writeFileSync(join(folder, `src/${way}.rs`), code(way, 2));
writeFileSync(join(folder, '.git/actions.json'), JSON.stringify(ids));
