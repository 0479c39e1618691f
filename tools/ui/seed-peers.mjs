// Adds a publication of another organization as a peer: `KEN_PEERS=FOLDER node seed-peers.mjs KEN REPOSITORY NAME [PAYLOADS]`. Its
// entries wait for a person. The repository gets an entry that states nearly the same as one of the peer `acme`.
import { execFileSync } from 'node:child_process';
import { personEnvironment as env } from './environment.mjs';
import { publish } from './publication.mjs';

const [ken, repository, name, hostile = '0'] = process.argv.slice(2);
const run = (...args) => execFileSync(ken, args, { cwd: repository, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const { folder, fingerprint, count } = publish(ken, `${repository}-${name}`, Number(hostile));
if (name === 'acme') run('add', '--kind', 'learning', '--cite', 'pr:1', '--statement', 'Bound retries of idempotent requests at five attempts.');
run('remote', 'peer', 'add', name, folder, '--key', fingerprint);
run('remote', 'peer', 'pull', name);
console.log(`     peer ${name}: ${count} entries`);
