// Turns the forager on and lets it answer: `KEN_FORAGE=FOLDER node seed-forage.mjs KEN REPOSITORY`. Nothing is sent anywhere.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { personEnvironment as env } from './environment.mjs';

const [ken, folder] = process.argv.slice(2);
const run = (program, ...args) => execFileSync(program, args, { cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

// The second source has no documents, so the log has a refusal too.
mkdirSync(env.KEN_FORAGE, { recursive: true });
writeFileSync(join(env.KEN_FORAGE, 'forage.toml'), `sources = ["packages", "folders"]\nfolders = ["${env.KEN_FORAGE}/handbook"]\n\n[egress]\nallow = ["docs.example.org"]\n`);
mkdirSync(join(folder, 'vendor/tiny'), { recursive: true });
writeFileSync(join(folder, 'Cargo.lock'), 'version = 4\n\n[[package]]\nname = "tiny"\nversion = "1.2.3"\nsource = "registry+https://example.org/index"\n');
writeFileSync(join(folder, 'vendor/tiny/Cargo.toml'), '[package]\nname = "tiny"\nversion = "1.2.3"\nlicense = "MIT"\n');
writeFileSync(join(folder, 'vendor/tiny/README.md'), '# tiny\n\n## Timeouts\n\nCall `Client::timeout` to set the timeout of a request in seconds.\n');
run('git', 'add', 'Cargo.lock', 'vendor');
run('git', 'commit', '--quiet', '-m', 'Lock tiny');
const question = 'How do I set the timeout of a request?';
run(ken, 'forage', question, '--package', 'tiny', '--propose');
run(ken, 'forage', question, '--package', 'absent');
run(ken, 'forage', 'domain', 'trust', 'docs.example.org');
run(ken, 'forage', 'domain', 'distrust', 'blog.example.org');
