// SPDX-License-Identifier: MIT
// The official clients of both eras over both transports.
//
// Usage: node clients.mjs COMMAND [ARGUMENT...]: a server for stdin and stdout, or with
// `--http ADDRESS` more for HTTP. With a tool execute_code real programs are run; without it the
// server is the fixture, and everything that the protocol has is used once.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { assert, connect, end, processesWith, startHttp, test, text, until } from './driver.mjs';

const command = process.argv.slice(2);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'mcp-sdk-'));
let marks = 0;

// ---- something that runs until it is stopped ----

const endlessProgram = {
  tool: 'execute_code',
  arguments: (mark) => ({ language: 'python', code: 'while True: pass', args: [mark], timeout: 600 }),
  mark: () => `mcp-sdk-mark-${process.pid}-${++marks}`,
  runs: (mark) => processesWith(mark).length > 0,
};

const endlessFixture = {
  tool: 'test_endless',
  arguments: (mark) => ({ marker: mark }),
  mark: () => path.join(folder, `mark-${++marks}`),
  runs: (mark) => fs.existsSync(mark),
};

async function stops(endless, session, stop) {
  const mark = endless.mark();
  const abort = new AbortController();
  const call = session.call(endless.tool, endless.arguments(mark), { signal: abort.signal })
    .then(() => 'an answer', (error) => error);
  await until('the program runs', () => endless.runs(mark));
  await stop(abort);
  await until('the program is gone', () => !endless.runs(mark));
  const outcome = await call;
  assert(outcome instanceof Error, `the call must not succeed: ${outcome}`);
}

// ---- what both servers must do ----

async function hasTools({ client }) {
  const { tools } = await client.listTools();
  assert(tools.length > 0, 'there are tools');
  for (const tool of tools)
    assert(tool.description && tool.inputSchema.type === 'object', `${tool.name} says what it is`);
}

async function refusesBadArguments({ client, call }) {
  for (const tool of (await client.listTools()).tools) {
    const required = tool.inputSchema.required ?? [];
    const bad = [{ no_such_argument: 1 }];
    for (const name of required)
      bad.push({ ...Object.fromEntries(required.map((r) => [r, 'x'])), [name]: { not: ['right'] } });
    if (required.length > 0)
      bad.push({});
    if (tool.inputSchema.$schema)
      continue;
    for (const args of bad) {
      const result = await call(tool.name, args).catch((error) => error);
      assert(result instanceof Error || result.isError, `${tool.name} takes ${JSON.stringify(args)}`);
    }
  }
}

// ---- the server of sandboxes ----

const hello = {
  python: 'print("hello from " + "python")',
  javascript: 'console.log("hello from " + "javascript")',
  ruby: 'puts "hello from " + "ruby"',
  r: 'cat(paste0("hello from ", "r"), "\\n")',
  go: 'package main\nimport "fmt"\nfunc main() { fmt.Println("hello from " + "go") }',
  java: 'public class Main { public static void main(String[] a) { System.out.println("hello from " + "java"); } }',
  cpp: '#include <iostream>\nint main() { std::cout << "hello from " << "cpp" << std::endl; }',
};

const python = (code, more) => ({ language: 'python', code, ...more });

async function runsEveryLanguage({ call }) {
  for (const [language, code] of Object.entries(hello)) {
    const result = await call('execute_code', { language, code });
    assert(!result.isError && text(result).includes(`hello from ${language}`),
           `${language}: ${text(result)}`);
  }
}

async function runsFiftyAtOnce({ call }) {
  const numbers = Array.from({ length: 50 }, (_, i) => i);
  const results = await Promise.all(numbers.map((i) =>
    call('execute_code', python(`print("number", ${i} * 1000 + 7)`))));
  results.forEach((result, i) =>
    assert(text(result).includes(`number ${i * 1000 + 7}`), `call ${i}: ${text(result)}`));
}

async function takesALargeProgram({ call }) {
  const result = await call('execute_code', python(`x = "${'a'.repeat(100_000)}"\nprint(len(x))`));
  assert(text(result).includes('100000'), text(result).slice(0, 300));
}

async function tellsProgress(session) {
  let heard = 0;
  await stops(endlessProgram, {
    call: (name, args, options) =>
      session.call(name, args, { ...options, onprogress: () => heard++ }),
  }, async (abort) => {
    await until('progress is told', () => heard > 0);
    abort.abort();
  });
}

/** On pipes the server is the client's own: it can be killed without any chance to clean up. */
async function diesWithTheServer(session) {
  if (session.pid)
    await stops(endlessProgram, session, () => process.kill(session.pid, 'SIGKILL'));
}

// ---- the fixture ----

async function answersFiftyAtOnce({ call }) {
  const numbers = Array.from({ length: 50 }, (_, i) => i);
  const results = await Promise.all(numbers.map((i) => call('test_echo', { text: `number ${i}` })));
  results.forEach((result, i) =>
    assert(result.structuredContent.text === `number ${i}`, `call ${i}: ${text(result)}`));
}

async function echoesALargeText({ call }) {
  const large = 'ä\u2028"\\'.repeat(25_000);
  const result = await call('test_echo', { text: large });
  assert(result.structuredContent.text === large, 'the text comes back as it was');
}

async function tellsProgressInOrder({ call }) {
  const heard = [];
  await call('test_tool_with_progress', {}, { onprogress: (p) => heard.push(p.progress) });
  // The SDK drops what comes in one piece with the answer.
  assert(heard.length >= 2 && '0,50,100'.startsWith(heard.join()), `progress: ${heard}`);
}

async function asksAndGetsAnswers({ call }) {
  const asked = [
    ['test_elicitation', { message: 'Who?' }, 'ada'],
    ['test_sampling', { prompt: 'Where?' }, 'Paris'],
    ['test_input_required_result_list_roots', {}, 'file:///root'],
    ['test_input_required_result_multiple_inputs', {}, 'Ada: Paris (1 roots)'],
    ['test_input_required_result_multi_round', {}, 'Ada likes'],
    ['test_input_required_result_request_state', {}, 'state'],
  ];
  for (const [name, args, wanted] of asked) {
    const result = await call(name, args);
    assert(text(result).includes(wanted), `${name}: ${text(result)}`);
  }
}

async function hasResources({ client }) {
  const { resources } = await client.listResources();
  assert(resources.length === 3, `${resources.length} resources`);
  const { resourceTemplates } = await client.listResourceTemplates();
  assert(resourceTemplates[0].uriTemplate === 'test://template/{id}/data', 'the template');
  const read = await client.readResource({ uri: 'test://template/a%20b/data' });
  assert(read.contents[0].uri === 'test://template/a%20b/data', 'its URI is the one asked for');
  const missing = await client.readResource({ uri: 'test://nope' }).catch((error) => error);
  assert(missing instanceof Error, 'what is not there is an error');
}

async function hasPrompts({ client }) {
  assert((await client.listPrompts()).prompts.length === 5, 'five prompts');
  const prompt = await client.getPrompt({ name: 'test_prompt_with_arguments',
                                          arguments: { arg1: 'x', arg2: 'y' } });
  assert(prompt.messages[0].content.text.includes("arg1='x'"), 'with its arguments');
  const { completion } = await client.complete({
    ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
    argument: { name: 'arg1', value: 'par' } });
  assert(completion.values.join() === 'paris,park,party', `completion: ${completion.values}`);
}

async function tellsChanges({ call, hear, subscribe }) {
  const heard = new Set();
  hear('notifications/tools/list_changed', () => heard.add('tools'));
  hear('notifications/resources/updated', (n) => heard.add(n.params.uri));
  await subscribe('test://watched-resource');
  await call('test_trigger_tool_change', {});
  await call('test_touch_watched_resource', {});
  await until('both changes are told', () => heard.has('tools') && heard.has('test://watched-resource'));
}

// ---- all of it ----

const common = {
  'every tool says what it is': hasTools,
  'bad arguments are refused by each tool': refusesBadArguments,
};

const sandboxes = {
  ...common,
  'a program of each language runs': runsEveryLanguage,
  'fifty calls at once get their own answers': runsFiftyAtOnce,
  'a program of 100 KB runs': takesALargeProgram,
  'progress is told while a program runs': tellsProgress,
  'a cancelled call ends its program': (s) => stops(endlessProgram, s, (abort) => abort.abort()),
  'the program of a client that goes away ends': (s) => stops(endlessProgram, s, () => s.leave()),
  'the program of a killed server ends': diesWithTheServer,
};

const fixture = {
  ...common,
  'fifty calls at once get their own answers': answersFiftyAtOnce,
  'an argument of 100 KB comes back': echoesALargeText,
  'progress is told in order': tellsProgressInOrder,
  'the client is asked and answers': asksAndGetsAnswers,
  'resources are listed and read': hasResources,
  'prompts are listed, read and completed': hasPrompts,
  'changes are told to who subscribed': tellsChanges,
  'a cancelled call is stopped': (s) => stops(endlessFixture, s, (abort) => abort.abort()),
  'the call of a client that goes away is stopped': (s) => stops(endlessFixture, s, () => s.leave()),
};

async function isSandboxes(http) {
  const session = await connect('legacy', 'http', command, http);
  const { tools } = await session.client.listTools();
  await session.leave();
  return tools.some((tool) => tool.name === 'execute_code');
}

const http = await startHttp(command);
const cases = await isSandboxes(http) ? sandboxes : fixture;
for (const kind of ['legacy', 'modern']) {
  for (const transport of ['stdio', 'http']) {
    for (const [name, body] of Object.entries(cases)) {
      await test(`${kind} over ${transport}: ${name}`, async () => {
        const session = await connect(kind, transport, command, http);
        try {
          await body(session);
        } finally {
          await session.leave().catch(() => {});
        }
      });
    }
  }
}
await test('the server ends in order', () => http.stop());
fs.rmSync(folder, { recursive: true });
end();
