// SPDX-License-Identifier: MIT
// What the tests with the official clients share: the clients, servers to talk to, TAP lines.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

const packages = path.join(process.env.SBX_NODE_TOOLS, 'node_modules/@modelcontextprotocol');

const load = (file) => import(pathToFileURL(path.join(packages, file)).href);
const old = {
  ...await load('sdk/dist/esm/client/index.js'),
  ...await load('sdk/dist/esm/client/stdio.js'),
  ...await load('sdk/dist/esm/client/streamableHttp.js'),
  types: await load('sdk/dist/esm/types.js'),
};
const current = { ...await load('client/dist/index.mjs'), ...await load('client/dist/stdio.mjs') };

export const DEADLINE_MS = 60_000;

const info = { name: 'sdk-test', version: '1.0.0' };
const capabilities = { elicitation: {}, sampling: {}, roots: {} };

// ---- TAP ----

let number = 0, failures = 0;

export async function test(name, body) {
  number++;
  try {
    await body();
    console.log(`ok ${number} - ${name}`);
  } catch (error) {
    failures++;
    console.log(`not ok ${number} - ${name}`);
    for (const line of String(error?.stack ?? error).split('\n').slice(0, 12))
      console.log(`#   ${line}`);
  }
}

export function end() {
  console.log(`1..${number}`);
  process.exit(failures ? 1 : 0);
}

export function skip(reason) {
  console.log(`# skipped: ${reason}`);
  process.exit(77);
}

export function assert(holds, sentence) {
  if (!holds)
    throw new Error(sentence);
}

/** Until it is true; the events that it waits for have no notification of their own. */
export async function until(what, predicate, deadlineMs = DEADLINE_MS) {
  const end = Date.now() + deadlineMs;
  while (!await predicate()) {
    if (Date.now() > end)
      throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Processes that have this word in their command line, by looking at all of /proc. */
export function processesWith(word) {
  return fs.readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid)
      return false;
    try {
      return fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(word);
    } catch {
      return false; // it has ended meanwhile
    }
  });
}

// ---- servers ----

/** The server says on one of its streams where it listens. */
async function readUrl(child) {
  const lines = readline.createInterface({ input: child.stdout });
  const errors = readline.createInterface({ input: child.stderr });
  const url = new Promise((resolve) => {
    for (const source of [lines, errors])
      source.on('line', (line) => {
        console.log(`# server: ${line}`);
        const found = line.match(/https?:\/\/\S+/);
        if (found)
          resolve(found[0]);
      });
  });
  const ended = once(child, 'exit').then(() => { throw new Error('the server ended too early'); });
  ended.catch(() => {});
  return Promise.race([url, ended]);
}

export async function startHttp(command) {
  const child = spawn(command[0], [...command.slice(1), '--http', '127.0.0.1:0'],
                      { stdio: ['ignore', 'pipe', 'pipe'] });
  const url = await readUrl(child);
  return {
    url: new URL(url),
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const [status] = await ended;
      assert(status === 0, `at SIGTERM the server ended with ${status}`);
    },
  };
}

// ---- clients ----

/** Both eras' clients behind the same few functions. */
const kinds = {
  legacy: {
    make: () => new old.Client(info, { capabilities }),
    stdio: (command) => new old.StdioClientTransport({ command: command[0], args: command.slice(1) }),
    http: (url) => new old.StreamableHTTPClientTransport(url),
    answer(client, method, handler) {
      const schema = { 'elicitation/create': 'ElicitRequestSchema', 'roots/list': 'ListRootsRequestSchema',
                       'sampling/createMessage': 'CreateMessageRequestSchema' }[method];
      client.setRequestHandler(old.types[schema], handler);
    },
    hear(client, method, handler) {
      const schema = { 'notifications/tools/list_changed': 'ToolListChangedNotificationSchema',
                       'notifications/resources/updated': 'ResourceUpdatedNotificationSchema' }[method];
      client.setNotificationHandler(old.types[schema], handler);
    },
    call: (client, params, options) => client.callTool(params, undefined, options),
    subscribe: (client, uri) => client.subscribeResource({ uri }),
  },
  modern: {
    make: () => new current.Client(info, { capabilities,
                                           versionNegotiation: { mode: { pin: '2026-07-28' } } }),
    stdio: (command) => new current.StdioClientTransport({ command: command[0], args: command.slice(1) }),
    http: (url) => new current.StreamableHTTPClientTransport(url),
    answer: (client, method, handler) => client.setRequestHandler(method, handler),
    hear: (client, method, handler) => client.setNotificationHandler(method, handler),
    call: (client, params, options) => client.callTool(params, options),
    subscribe: (client, uri) => client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] }),
  },
};

/** A connected client. leave() is what a client does that goes away without another word. */
export async function connect(kindName, transportName, command, http) {
  const kind = kinds[kindName];
  const client = kind.make();
  const transport = transportName === 'stdio' ? kind.stdio(command) : kind.http(http.url);
  kind.answer(client, 'elicitation/create',
              async () => ({ action: 'accept', content: { name: 'Ada', username: 'ada', email: 'a@b.c' } }));
  kind.answer(client, 'roots/list', async () => ({ roots: [{ uri: 'file:///root' }] }));
  kind.answer(client, 'sampling/createMessage', async () => ({
    role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'none', stopReason: 'endTurn' }));
  await client.connect(transport);
  return {
    client,
    pid: transport.pid, // of a server on pipes
    call: (name, args, options) =>
      kind.call(client, { name, arguments: args }, { timeout: DEADLINE_MS, ...options }),
    hear: (method, handler) => kind.hear(client, method, handler),
    subscribe: (uri) => kind.subscribe(client, uri),
    async leave() {
      // In the older era only the end of its session says that an HTTP client is gone.
      if (kindName === 'legacy' && transportName === 'http')
        await transport.terminateSession();
      await client.close();
    },
  };
}

export function text(result) {
  return result.content.filter((item) => item.type === 'text').map((item) => item.text).join('\n');
}
