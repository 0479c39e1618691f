// Makes a repository with code, entries and runs: `node seed.mjs KEN FOLDER [ENTRIES [FILES]]`.
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { personEnvironment as env } from './environment.mjs';

const [ken, folder, count = '2000', files = '40'] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
// An id per added entry is more than Node keeps by default.
const OUTPUT_BYTES_MAX = 64 << 20;
const run = (program, ...args) => execFileSync(program, args, { cwd: folder, env, encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX });
const git = (...args) => run('git', '-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args);

const PAY = `//! Payments.

/// Money in the drawer.
pub struct Ledger {
    total: u64,
    is_open: bool,
}

impl Ledger {
    /// Charges a customer; false if the drawer is closed.
    pub fn charge(&mut self, cents: u64) -> bool {
        if !self.is_open || cents >= 1_000 {
            return false;
        }
        self.total += cents;
        true
    }

    /// Gives money back.
    pub fn refund(&mut self, cents: u64) {
        // The total must never go below zero.
        self.total = self.total.saturating_sub(cents);
    }
}
`;
mkdirSync(join(folder, 'src'), { recursive: true });
writeFileSync(join(folder, 'src/pay.rs'), PAY);
const modules = Number(files);
for (let at = 0; at < modules; at++) {
  const functions = Array.from({ length: 25 }, (_, n) =>
    `/// Step ${n} of module ${at}.\npub fn step_${n}(input: u64) -> u64 {\n    input + ${n}\n}\n`);
  writeFileSync(join(folder, `src/module_${at}.rs`), functions.join('\n'));
}
writeFileSync(join(folder, 'CLAUDE.md'), '# Rules\n\n- Run `npm test` before every commit.\n- Money is counted in cents; see `src/money.rs`.\n');
git('init', '--quiet', '--initial-branch=main');
git('config', 'user.name', 'Ada');
git('config', 'user.email', 'ada@example.org');
git('add', '.');
git('commit', '--quiet', '-m', 'Start');
run(ken, 'init');

const kinds = ['learning', 'pattern', 'anti-pattern', 'decision', 'convention', 'technique'];
const topics = ['payments', 'retries', 'cache', 'login', 'search', 'billing', 'exports', 'sync'];
// Words that differ from entry to entry, so that few of the entries state the same.
const subjects = ['The invoice worker', 'A webhook handler', 'The price table', 'Our session store', 'The thumbnail job', 'An export file', 'The retry queue', 'A feature flag',
  'The mail template', 'The audit log', 'A partial refund', 'The search index', 'A scheduled report', 'The login form', 'The currency module', 'A database migration'];
const verbs = ['reads', 'locks', 'rewrites', 'skips', 'validates', 'batches', 'duplicates', 'postpones', 'encrypts', 'truncates', 'replays'];
const objects = ['customer addresses', 'open carts', 'stale tokens', 'tax rates', 'uploaded photos', 'foreign keys', 'null columns', 'time zones', 'gift vouchers', 'shipping labels', 'user agents', 'pending charges', 'locale names'];
const conditions = ['before midnight', 'when the broker restarts', 'unless a person approved it', 'after the third failure', 'while a deploy is running', 'only in the staging region', 'if the header is missing'];
const lines = [
  { kind: 'learning', statement: 'A charge of ten euros or more is refused, so callers split it.', anchors: ['src/pay.rs#Ledger::charge'], cite: ['commit:HEAD'], tags: ['payments'] },
  { kind: 'anti-pattern', statement: 'Retrying `charge` without an idempotency key bills the customer twice.', anchors: ['src/pay.rs#Ledger::charge'], cite: ['commit:HEAD'], tags: ['payments/retries'] },
  { kind: 'learning', statement: 'A refund never makes the total negative.', anchors: ['src/pay.rs#Ledger::refund'], cite: ['commit:HEAD'], tags: ['payments'] },
  { kind: 'commit-norm', statement: 'Money is counted in cents, as u64; never as a float.', cite: ['doc:CLAUDE.md'], applies_to: ['src/**'] },
  { kind: 'learning', statement: '<script>window.hacked = 1</script> <img src=x onerror="window.hacked = 1"> is what the attacker tried in `name`.', cite: ['commit:HEAD'], tags: ['hostile'] },
  { kind: 'learning', statement: 'The admin page trusts \u202Egnp.exe\u202C and zero\u200Bwidth names.', cite: ['commit:HEAD'], tags: ['hostile'] },
];
// Without them, statements repeat after 16,016.
const places = ['Lisbon', 'Nairobi', 'Toronto', 'Osaka', 'Quito', 'Tallinn', 'Accra', 'Perth', 'Bergen', 'Lima', 'Hanoi', 'Porto', 'Dakar', 'Riga', 'Cusco', 'Malmo', 'Seoul'];
const ending = Number(count) > 16_016 ? (at) => ` in ${places[at % 17]}` : () => '';
for (let at = lines.length; at < Number(count); at++) {
  const topic = topics[at % topics.length];
  lines.push({
    kind: kinds[at % kinds.length],
    statement: `${subjects[at % 16]} ${verbs[at % 11]} ${objects[at % 13]} ${conditions[at % 7]}${ending(at)}.`,
    anchors: [`src/module_${at % modules}.rs#step_${at % 25}`], cite: ['commit:HEAD'],
    tags: [`${topic}/case-${at % 50}`],
  });
}
writeFileSync(join(folder, '.git/seed.jsonl'), lines.map((it) => JSON.stringify(it)).join('\n'));
run(ken, 'add', '--from-jsonl', '.git/seed.jsonl');
run(ken, 'import', '--review');

// Two runs of agents: one closed, one open.
const agents = { ...env };
const asAgent = (name, ...args) => execFileSync(ken, ['--by', `agent:${name}`, ...args], { cwd: folder, env: agents, encoding: 'utf8' });
run(ken, 'run', 'open', 'review-1', '--agent', 'a,role=reviewer', '--agent', 'b', '--witness', 'orchestrator', '--task', 'Look at charges');
asAgent('a', '--run', 'review-1', 'brief', 'charge a customer');
asAgent('b', '--run', 'review-1', 'search', 'idempotency key');
const found = JSON.parse(run(ken, 'search', 'idempotency key bills', '--format', 'json')).results[0].id;
run(ken, 'run', 'note', 'review-1', '--agent', 'agent:b', '--used', found);
asAgent('a', '--run', 'review-1', 'run', 'observe', '--statement', 'Callers split a large charge into several small ones.');
run(ken, 'run', 'close', 'review-1', '--outcome', 'succeeded', '--quality', '0.9');
run(ken, 'run', 'open', 'review-2', '--agent', 'c', '--task', 'Refunds');
asAgent('c', '--run', 'review-2', 'search', 'refund total negative');

// The code behind two entries changes.
writeFileSync(join(folder, 'src/pay.rs'), readFileSync(join(folder, 'src/pay.rs'), 'utf8').replace('cents >= 1_000', 'cents >= 100_000'));
appendFileSync(join(folder, 'CLAUDE.md'), '\n');
