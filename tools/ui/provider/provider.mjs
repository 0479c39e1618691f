// An OpenID provider for tests: oidc-provider (OpenID Certified) with accounts in memory.
//
// `node provider.mjs PORT REDIRECT_URI LOGOUT_URI`. An account is the name that is typed; its roles are in front of the
// at sign, such as `curator+ada@example.org`. `POST /control/disable?account=NAME` ends an account.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [port, redirectUri, logoutUri] = process.argv.slice(2);
const require = createRequire(join(process.env.PROVIDER_TOOLS, 'package.json'));
const { default: Provider } = await import(pathToFileURL(require.resolve('oidc-provider')));

const issuer = `http://127.0.0.1:${port}`;
const disabled = new Set();
const provider = new Provider(issuer, {
  clients: [{
    client_id: 'ken-hub', client_secret: 'hub secret & more', redirect_uris: [redirectUri], response_types: ['code'],
    grant_types: ['authorization_code', 'refresh_token'], token_endpoint_auth_method: 'client_secret_basic',
    backchannel_logout_uri: logoutUri, backchannel_logout_session_required: true,
  }],
  pkce: { required: () => true },
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['roles', 'name'] },
  scopes: ['openid', 'email', 'profile', 'offline_access'],
  conformIdTokenClaims: false,
  features: { devInteractions: { enabled: true }, backchannelLogout: { enabled: true }, rpInitiatedLogout: { enabled: true } },
  ttl: { AccessToken: 300, IdToken: 300, RefreshToken: 86_400, Session: 86_400, Grant: 86_400, Interaction: 600 },
  cookies: { keys: ['only for tests'] },
  // It refuses requests to loopback by default, where the hub under test is.
  fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined }),
  async findAccount(_ctx, sub) {
    if (disabled.has(sub)) return undefined;
    return { accountId: sub, claims: () => ({ sub, email: sub, email_verified: true, name: sub, roles: sub.split('+')[0].split('.') }) };
  },
});
const server = provider.callback();
const http = await import('node:http');
http.createServer(async (request, response) => {
  const url = new URL(request.url, issuer);
  if (request.method === 'POST' && url.pathname.startsWith('/control/')) {
    const account = url.searchParams.get('account');
    if (url.pathname === '/control/disable') disabled.add(account);
    response.end('done');
    return;
  }
  server(request, response);
}).listen(Number(port), '127.0.0.1', () => console.log(`listening ${issuer}`));
