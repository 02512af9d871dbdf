/* SPDX-License-Identifier: MIT */
/*
 * Broken and hostile configuration files for the two splicers. What they refuse, they refuse
 * with a sentence; what they change must hold: the entry is there, setting it again changes
 * nothing, removing it leaves what was there before, and nothing is written past the ends.
 * Built with clang it is a libFuzzer target; with SBX_FUZZ_MAIN it bends its own seeds.
 */
#include "random.h"

#include "cli/splice.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define JSON_ENTRY "{\"command\":\"/x\",\"args\":[\"mcp\"]}"
#define TOML_ENTRY "command = \"/x\"\nargs = [\"mcp\"]\n"

struct target {
	const struct splice_format *format;
	struct splice_place place;
	const char *entry;
};

static const struct target targets[] = {
	{&json_splice, {"s", "n"}, JSON_ENTRY},
	{&toml_splice, {"s", "n"}, TOML_ENTRY},
};

static unsigned long changed;

static void must(bool condition)
{
	if (!condition)
		abort();
}

static bool same(const struct text *a, const struct text *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* What is left without the entry. */
static struct text without(const struct target *t, const struct text *in)
{
	struct text out = {0};
	struct sbx_error err;

	must(t->format->remove(in, &t->place, &out, &err) == 0);
	if (out.data == NULL)
		out = (struct text){strndup(in->data, in->len), in->len};
	must(out.data != NULL);
	return out;
}

static void check_changed(const struct target *t, const struct text *after)
{
	char *entry = t->format->get(after, &t->place);
	struct text again = {0}, two = without(t, after), left = {0};
	struct sbx_error err;

	changed++;
	must(entry != NULL && strcmp(entry, t->entry) == 0);
	must(t->format->set(after, &t->place, t->entry, &again, &err) == 0 && again.data == NULL);
	must(t->format->remove(&two, &t->place, &left, &err) == 0 && left.data == NULL);
	must(t->format->set(&two, &t->place, t->entry, &again, &err) == 0 && again.data != NULL);
	free(again.data);
	free(two.data);
	free(entry);
}

/* The sentence begins so: what is quoted from the file may say anything. */
static bool is_our_fault(const struct sbx_error *err)
{
	return strncmp(err->msg, "the change would", 16) == 0;
}

static void try_target(const struct target *t, const struct text *in)
{
	struct text after = {0}, removed = {0};
	struct sbx_error err = {.msg = ""};
	int r = t->format->set(in, &t->place, t->entry, &after, &err);

	must(r == 0 || err.msg[0] != '\0');
	/* The proof must never be what stops a bad splice: that would be a bug of ours. */
	must(r == 0 || !is_our_fault(&err));
	if (r == 0 && after.data != NULL) {
		must(after.data[after.len] == '\0' && !same(in, &after));
		check_changed(t, &after);
	}
	err.msg[0] = '\0';
	r = t->format->remove(in, &t->place, &removed, &err);
	must(r == 0 || !is_our_fault(&err));
	free(after.data);
	free(removed.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of just this size, so that a sanitizer sees the first byte too many. */
	struct text in = {malloc(size + 1), size};

	must(in.data != NULL);
	memcpy(in.data, data, size);
	in.data[size] = '\0';
	for (size_t i = 0; i < 2; i++)
		try_target(&targets[i], &in);
	free(in.data);
	return 0;
}

#ifdef SBX_FUZZ_MAIN
static const char *const seeds[] = {
	"{\"s\": {\"a\": 1, \"n\": {}, \"b\": [1, {}]}, \"t\": \"\\u0073\"}",
	"// c\n{\n\t\"s\": { // d\n\t\t\"a\": {}, /* e */\n\t\t\"n\": 1,\n\t},\n}\n",
	"{\r\n  \"x\": \"\\ud83d\\\"\",\r\n  \"s\": {}\r\n}\r\n",
	"\xef\xbb\xbf{}",
	"a = 1\n[s.n] # c\nb = 'x'\n\n[s.n.env]\nc = \"\"\"\n[s.n]\n\"\"\"\n# d\n[[z]]\n",
	"s.n.a = 1\r\n[s]\r\n\"n\" = { x = [1, 2], y.z = '''q''' }\r\nm = 1979-05-27 07:32:00\r\n",
	"[ s . 'o' ]\nx = [\n 1, # c\n]\n\n\n[s.n]",
};

static const char *const pieces[] = {
	"{",  "}",  "[",  "]",    ",",   ":",    "\"",      "\\",     "\n",  "\r\n", " ",
	"\t", "//", "/*", "*/",   "#",   "=",    ".",       "'",      "\"\"\"", "'''",  "\"n\"",
	"\"s\"", "[s.n]\n", "[s]\n", "n = 1\n", "s.n = 2\n", "\\u006e", "\xef\xbb\xbf", "1", "{}", "\xff",
};

static void insert(char *text, size_t *len, size_t at, const char *piece)
{
	size_t n = strlen(piece);

	if (*len + n > 511)
		return;
	memmove(text + at + n, text + at, *len - at);
	memcpy(text + at, piece, n);
	*len += n;
}

static void drop(char *text, size_t *len, size_t at, size_t n)
{
	n = n < *len - at ? n : *len - at;
	memmove(text + at, text + at + n, *len - at - n);
	*len -= n;
}

/* A seed with up to four pieces put in or taken out. */
static size_t make_input(char ret[512], uint32_t *state)
{
	const char *seed = seeds[next(state) % (sizeof(seeds) / sizeof(seeds[0]))];
	size_t len = strlen(seed);

	memcpy(ret, seed, len);
	for (uint32_t i = next(state) % 5; i > 0; i--) {
		size_t at = next(state) % (len + 1);

		if (next(state) % 3 == 0)
			drop(ret, &len, at, 1 + next(state) % 4);
		else
			insert(ret, &len, at, pieces[next(state) % (sizeof(pieces) / sizeof(pieces[0]))]);
	}
	return len;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	uint32_t state = 54321;
	char input[512];

	for (unsigned long i = 0; i < rounds; i++) {
		size_t len = make_input(input, &state);

		if (getenv("SBX_FUZZ_SHOW") != NULL) {
			FILE *f = fopen(getenv("SBX_FUZZ_SHOW"), "w");

			fwrite(input, 1, len, f);
			fclose(f);
		}
		LLVMFuzzerTestOneInput((const uint8_t *)input, len);
	}
	printf("1..1\nok 1 - %lu bent files, %lu of them changed as wanted\n", rounds, changed);
	return 0;
}
#endif
