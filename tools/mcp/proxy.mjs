// Adds a token to what passes: the conformance suite sends none, and our server lets nobody in without.
//
// `node proxy.mjs ADDRESS TOKEN` prints the address it listens at and passes everything on, `Host` and `Origin` as they
// came, until its standard input ends.
import http from "node:http";

const [address, token] = process.argv.slice(2);
const [host, port] = [address.slice(0, address.lastIndexOf(":")), address.slice(address.lastIndexOf(":") + 1)];

const server = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const passed = http.request({ host, port, path: request.url, method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  passed.on("error", () => response.destroy());
  response.on("close", () => passed.destroy());
  request.pipe(passed);
});
server.listen(0, "127.0.0.1", () => console.log(`127.0.0.1:${server.address().port}`));
process.stdin.on("end", () => process.exit(0)).resume();
