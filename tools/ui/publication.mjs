// A publication of another organization in a folder, with lessons and, if asked for, hostile texts.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { personEnvironment } from './environment.mjs';
import { payloads } from './payloads.mjs';

const lessons = [
  { statement: 'Bound retries of idempotent requests at three attempts.', body: 'A fourth attempt found the service down in every incident of the year.\nThe client sleeps with jitter between attempts.' },
  { statement: 'A channel without a capacity hides a slow consumer until memory runs out.', kind: 'anti-pattern', polarity: 'negative', lens: 'performance', decay: 'stable' },
  { statement: 'A worker pool of eight beats one of sixteen for small jobs.', kind: 'spike', question: 'Does a pool of eight beat one of sixteen?', answer: 'Yes, for jobs below a millisecond.', confidence: 'conclusive', constraints: ['Measured on four cores'] },
  { statement: 'Cancel a task before you drop its channel.', depends_on: ['pkg:cargo/tokio@>=1.40'] },
  { statement: 'Set the timeout of a connection before the first request is sent.' },
];

/** Publishes from a new repository below `work`; returns the folder, the key's fingerprint and the number of entries. */
export function publish(ken, work, hostile = 0) {
  const cwd = join(work, 'publisher');
  mkdirSync(cwd, { recursive: true });
  const env = { ...personEnvironment, KEN_PEERS: join(work, 'no-peers') };
  const run = (program, ...args) => execFileSync(program, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  run('git', 'init', '--quiet', '--initial-branch=main');
  run('git', 'config', 'user.name', 'Zoe');
  run('git', 'config', 'user.email', 'zoe@example.net');
  run(ken, 'init');
  const key = join(work, 'key');
  run('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', key);
  const folder = join(work, 'published');
  run(ken, 'remote', 'publication', 'create', 'partners', folder, '--topic', 'rust', '--license', 'CC-BY-4.0', '--key', key);
  const add = (object) => {
    const content = JSON.stringify({ kind: 'learning', cite: ['pr:1'], tags: ['rust/async'], ...object });
    const id = run(ken, 'add', '--content', content).trim().split('\n')[0].split(' ')[0];
    run(ken, 'confirm', id);
    run(ken, 'remote', 'publication', 'allow', 'partners', id);
  };
  for (const lesson of lessons) add(lesson);
  let count = lessons.length;
  payloads.slice(0, hostile).forEach((payload, number) => {
    // The guard and the rules of publications refuse some of them.
    try {
      add({ statement: `Case ${number}: ${payload}`.slice(0, 3_990), body: payload });
      count++;
    } catch {}
  });
  run(ken, 'remote', 'publication', 'update', 'partners');
  const { fingerprint } = JSON.parse(run(ken, 'remote', 'publication', 'list', '--format', 'json'));
  return { folder, fingerprint, count };
}
