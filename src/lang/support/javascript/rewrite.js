// SPDX-License-Identifier: MIT
//
// What V8 does not take in a console, written in another way. Import declarations and import():
//
//	import fs, { join as j } from 'fs'	is	const { default: fs, join: j } = await …('fs')
//	import('fs')				is	…('fs')
//
// And a name that is declared again in another way than before: with another word.
//
// The lines stay what they were. This needs to know what is code and what is text, comment or
// regular expression, and nothing more of the grammar.
'use strict';

const NAME = '__llmSandboxImport';

const TOKEN = new RegExp([
	/(?<space>\s+|\/\/[^\n]*|\/\*[^]*?\*\/)/,
	/(?<text>"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*')/,
	/(?<word>[\p{ID_Start}$_#][\p{ID_Continue}$\u200c\u200d]*)/u,
	/(?<number>\.?\d[\w.]*)/,
	/(?<other>[^])/,
].map((part) => part.source).join('|'), 'uy');
const REGEX = /\/(?:[^\/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y;
const TEMPLATE_PART = /(?:[^`\\$]|\\[^]|\$(?!\{))*(?<end>`|\$\{)/y;

// After these an expression begins, and so a slash begins a regular expression.
const BEFORE_EXPRESSION = new Set(['return', 'typeof', 'case', 'in', 'of', 'delete', 'void', 'throw',
	'new', 'do', 'else', 'await', 'yield', 'instanceof']);

function match(pattern, code, at) {
	pattern.lastIndex = at;
	return pattern.exec(code);
}

// The tokens that are neither space nor comment: { kind, value, at, end, depth }.
function* tokens(code) {
	const brackets = []; // what is open: "(", "[", "{" or "`" for a piece of code in a template
	let before = null;

	function* template(at) {
		const part = match(TEMPLATE_PART, code, at);
		const end = part ? at + part[0].length : code.length;
		if (part?.groups.end === '${')
			brackets.push('`');
		yield { kind: 'text', value: '`', at, end, depth: brackets.length };
	}

	for (let at = 0; at < code.length;) {
		let token;
		const found = match(TOKEN, code, at);
		const kind = Object.keys(found.groups).find((name) => found.groups[name] !== undefined);
		const value = found[0];
		if (kind === 'space') {
			at += value.length;
			continue;
		}
		token = { kind, value, at, end: at + value.length, depth: brackets.length };
		if (value === '`' || (value === '}' && brackets.at(-1) === '`')) {
			if (value === '}')
				brackets.pop();
			token = template(at + 1).next().value;
		} else if (value === '/' && beginsExpression(before)) {
			const regex = match(REGEX, code, at);
			if (regex)
				token = { kind: 'text', value: '/', at, end: at + regex[0].length, depth: brackets.length };
		} else if ('([{'.includes(value)) {
			brackets.push(value);
		} else if (')]}'.includes(value)) {
			brackets.pop();
		}
		yield token;
		before = token;
		at = token.end;
	}
}

function beginsExpression(before) {
	if (before === null)
		return true;
	if (before.kind === 'word')
		return BEFORE_EXPRESSION.has(before.value);
	return before.kind === 'other' && !')]}'.includes(before.value);
}

// What stands between "import" and "from", as what a const declares.
function bindings(clause) {
	const [, first, rest] = /^\s*([^{*,\s][^{*,]*)?\s*,?\s*([^]*)$/.exec(clause);
	const space = /^\*\s*as\s+(\S+)\s*$/.exec(rest);
	const named = /^\{([^]*)\}\s*$/.exec(rest);
	const names = named ? named[1].replace(/\s+as\s+/g, ': ').trim() : '';
	const parts = [first && `default: ${first.trim()}`, names].filter(Boolean).join(', ');
	return { space: space?.[1], names: parts && `{ ${parts} }` };
}

function declaration(clause, source, lines) {
	const loaded = `await ${NAME}(${source})`;
	if (clause.trim() === '')
		return loaded + lines;
	const { space, names } = bindings(clause);
	if (space)
		return `const ${space} = ${loaded}${names ? `, ${names} = ${space}` : ''}${lines}`;
	return `const ${names} = ${loaded}${lines}`;
}

// The replacement of the import that begins with token n: { end, text }, or null for none.
function replacement(code, all, n) {
	const next = all[n + 1];
	const before = all[n - 1];
	if (!next || before?.value === '.')
		return null;
	if (next.value === '(')
		return { end: all[n].end, text: NAME };
	if (next.value === '.' || all[n].depth > 0 || next.value === ':')
		return null;
	let last = n + 1;
	if (next.kind !== 'text') {
		while (all[last] && all[last].value !== 'from')
			last++;
		last++;
	}
	const source = all[last];
	if (source?.kind !== 'text')
		return null;
	const clause = next.kind === 'text' ? '' : code.slice(all[n].end, all[last - 1].at);
	const lines = '\n'.repeat(code.slice(all[n].at, source.end).split('\n').length - 1);
	return { end: source.end,
		text: declaration(clause.replace(/\n/g, ' '), code.slice(source.at, source.end), lines) };
}

function rewriteImports(code) {
	if (!/\bimport\b/.test(code))
		return code;
	const all = [...tokens(code)];
	let result = '';
	let done = 0;
	all.forEach((token, n) => {
		if (token.kind !== 'word' || token.value !== 'import' || token.at < done)
			return;
		const found = replacement(code, all, n);
		if (found) {
			result += code.slice(done, token.at) + found.text;
			done = found.end;
		}
	});
	return result + code.slice(done);
}

// The same code with its declarations at the top level made by another word.
function rewriteDeclarations(code, words, word) {
	if (!words.some((known) => code.includes(known)))
		return code;
	let result = '';
	let done = 0;
	for (const token of tokens(code)) {
		if (token.kind === 'word' && token.depth === 0 && words.includes(token.value)) {
			result += code.slice(done, token.at) + word;
			done = token.end;
		}
	}
	return result + code.slice(done);
}

module.exports = { rewriteImports, rewriteDeclarations };
