/* SPDX-License-Identifier: MIT */
#include "cli/parse.h"

#include "cli/closest.h"
#include "cli/trouble.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define OPTIONS_MAX  64
#define LONG_BASE    256 /* getopt's value of the n-th option is LONG_BASE + n */

/* The table in getopt's form. */
struct grammar {
	struct option longs[OPTIONS_MAX + 1];
	char shorts[2 * OPTIONS_MAX + 3];
};

static void make_grammar(const struct command *command, struct grammar *ret)
{
	const struct option_row *o;
	size_t n = 0, len = 0;

	/* '+': stop at the first word that is no option. ':': tell a missing value from others. */
	if (!command->mixes)
		ret->shorts[len++] = '+';
	ret->shorts[len++] = ':';
	for (size_t i = 0; (o = option_at(i)) != NULL && n < OPTIONS_MAX; i++) {
		bool takes = option_argument(o) != NULL;
		bool may_take = takes && option_argument(o)[0] == '['; /* behind an '=' alone */

		if (!(o->commands & command->bit))
			continue;
		ret->longs[n++] = (struct option){
			.name = option_name(o),
			.has_arg = may_take ? optional_argument
				   : takes  ? required_argument
					    : no_argument,
			.val = LONG_BASE + (int)i,
		};
		if (o->letter != '\0')
			ret->shorts[len++] = o->letter;
		if (o->letter != '\0' && takes)
			ret->shorts[len++] = ':';
	}
	ret->longs[n] = (struct option){0};
	ret->shorts[len] = '\0';
}

static const struct option_row *option_by_value(const struct command *command, int value)
{
	const struct option_row *o;

	if (value >= LONG_BASE)
		return option_at((size_t)(value - LONG_BASE));
	for (size_t i = 0; (o = option_at(i)) != NULL; i++) {
		if (o->letter == value && (o->commands & command->bit))
			return o;
	}
	return NULL;
}

/* ---- errors ---- */

static int fail_unknown_long(const struct command *command, const char *word, struct sbx_error *err)
{
	char name[64];
	struct closest closest = {.typed = name};
	const struct option_row *o;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	o = option_find(name);
	if (o != NULL && !(o->commands & command->bit))
		return cli_fail(err, SBX_E_INVALID, "'%s' has no option '--%s'", command->name, name);
	for (size_t i = 0; (o = option_at(i)) != NULL; i++) {
		if ((o->commands & command->bit) && !o->hidden)
			closest_offer(&closest, option_name(o));
	}
	return cli_fail(err, SBX_E_INVALID, "there is no option '--%s'%s", name,
			closest_hint(&closest, "--"));
}

/* getopt reports by return value, optopt and where it stands; this is all that it can mean. */
static int fail_option(const struct command *command, int c, const char *word,
		       struct sbx_error *err)
{
	const struct option_row *o = optopt ? option_by_value(command, optopt) : NULL;

	if (o != NULL && c == ':')
		return cli_fail(err, SBX_E_INVALID, "--%s needs a value: --%s %s", option_name(o),
				option_name(o), option_argument(o));
	if (o != NULL)
		return cli_fail(err, SBX_E_INVALID, "--%s takes no value", option_name(o));
	if (optopt != 0)
		return cli_fail(err, SBX_E_INVALID, "there is no option '-%c'", optopt);
	return fail_unknown_long(command, word, err);
}

/* ---- the line ---- */

/* getopt also takes the beginning of a name; a name added later would change its meaning. */
static bool is_abbreviated(const struct option_row *o, const char *word)
{
	size_t len = strlen(option_name(o));

	return strncmp(word, "--", 2) == 0 && strlen(word + 2) >= 1 &&
	       (strncmp(word + 2, option_name(o), len) != 0 ||
		(word[2 + len] != '\0' && word[2 + len] != '='));
}

/* The word that getopt has just taken an option from: what is behind it is a value of its own. */
static const char *last_word(char **argv)
{
	bool has_value = optarg != NULL && optarg == argv[optind - 1] && optind >= 2;

	return argv[optind - (has_value ? 2 : 1)];
}

int parse_words(const struct command *command, int argc, char **argv, struct invocation *ret,
	       struct sbx_error *err)
{
	struct grammar grammar;
	size_t room = 0;
	struct given *given;
	struct invocation inv = {.command = command, .words = argv + 1};
	int c, before = 1;

	/* "-js" is two options in one word: there are never more options than letters. */
	for (int i = 1; i < argc; i++)
		room += argv[i][0] == '-' ? strlen(argv[i]) : 0;
	given = inv.given = calloc(room + 1, sizeof(*given));

	if (given == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	make_grammar(command, &grammar);
	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, grammar.shorts, grammar.longs, NULL)) != -1) {
		const char *word = last_word(argv);
		const struct option_row *o = NULL;

		if (c != '?' && c != ':')
			o = option_by_value(command, c);
		if (o == NULL || (c >= LONG_BASE && is_abbreviated(o, word))) {
			free(given);
			return o ? fail_unknown_long(command, word, err)
				 : fail_option(command, c, word, err);
		}
		given[inv.given_count++] = (struct given){o, optarg};
		before = optind;
	}
	inv.separated = !command->mixes && optind > before;
	inv.rest = argv + optind;
	*ret = inv;
	return 0;
}
