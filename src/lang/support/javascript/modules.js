// SPDX-License-Identifier: MIT
//
// What a file of its own would have: require, module, exports and import(), relative to the
// folder that the kernel was started in.
'use strict';

const Module = require('module');
const path = require('path');
const { pathToFileURL } = require('url');
const vm = require('vm');

function define(name, value) {
	Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}

// import() of code that no file holds has no place to start from; this one has.
function makeImport(file, require) {
	const options = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER;
	const plain = new vm.Script('(name, options) => import(name, options)', {
		filename: file,
		importModuleDynamically: options ?? ((name) => import(name)),
	}).runInThisContext();
	let first = true;
	const load = (address, options) => {
		// Node says once that the loader of the options above is experimental; no cell asked for it.
		const { emitWarning } = process;
		if (first)
			process.emitWarning = () => {};
		try {
			return plain(address, options);
		} finally {
			process.emitWarning = emitWarning;
			first = false;
		}
	};
	return async (name, options) => {
		const address = /^\.{0,2}\//.test(name) ? new URL(name, pathToFileURL(file)).href : name;
		try {
			return await load(address, options);
		} catch (error) {
			const found = error?.code === 'ERR_MODULE_NOT_FOUND' && findRequired(require, name);
			if (!found)
				throw error;
			return load(pathToFileURL(found).href, options);
		}
	};
}

// Libraries that only require() finds (NODE_PATH).
function findRequired(require, name) {
	try {
		return require.resolve(name);
	} catch {
		return null;
	}
}

function prepareModules() {
	const file = path.join(process.cwd(), 'cell.js');
	const require = Module.createRequire(file);
	const module = new Module(file);
	// So that "if this is the program" holds, as it would in a file that is run.
	require.main = module;
	define('require', require);
	define('module', module);
	define('exports', module.exports);
	define('__filename', file);
	define('__dirname', path.dirname(file));
	define('__llmSandboxImport', makeImport(file, require));
	process.argv = [process.execPath];
}

module.exports = { prepareModules };
