/* SPDX-License-Identifier: MIT */
#include "cli/source.h"

#include "cli/closest.h"
#include "cli/files.h"
#include "cli/signals.h"
#include "cli/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One byte more than the library takes, so that it is the one to say what is too large. */
#define CODE_READ_MAX (((size_t)64 << 20) + 1)

void source_list_languages(char *ret, size_t size)
{
	const struct sbx_language_info *l;
	size_t len = 0;

	ret[0] = '\0';
	for (size_t i = 0; (l = sbx_language_at(i)) != NULL && len < size; i++)
		len += (size_t)snprintf(ret + len, size - len, "%s%s", i ? ", " : "", l->id);
}

/* ---- language ---- */

int source_choose_language(const char *name, struct source *ret, struct sbx_error *err)
{
	struct closest closest = {.typed = name};
	const struct sbx_language_info *l;
	char list[160];

	ret->language = sbx_language_find(name);
	if (ret->language != NULL)
		return 0;
	for (size_t i = 0; (l = sbx_language_at(i)) != NULL; i++)
		closest_offer(&closest, l->id);
	source_list_languages(list, sizeof(list));
	return cli_fail(err, SBX_E_INVALID, "there is no language '%.64s'%s (languages: %s)", name,
			closest_hint(&closest, ""), list);
}

/* From --language, else from the file's name, which then is also its name inside. */
static int choose_language(const char *wanted, const char *path, struct source *ret,
			   struct sbx_error *err)
{
	const char *base = path ? basename(path) : NULL;
	const struct sbx_language_info *guessed = base ? sbx_language_guess(base) : NULL;
	char list[160];
	int r = wanted ? source_choose_language(wanted, ret, err) : 0;

	if (r < 0)
		return r;
	if (wanted == NULL)
		ret->language = guessed;
	if (ret->language != NULL && ret->language == guessed)
		ret->file_name = base;
	if (ret->language != NULL)
		return 0;
	source_list_languages(list, sizeof(list));
	if (base == NULL)
		return cli_fail(err, SBX_E_INVALID,
				"which language is the code? Use -l LANGUAGE (languages: %s)", list);
	return cli_fail(err, SBX_E_INVALID,
			"cannot tell the language of '%.128s' from its name; use -l LANGUAGE "
			"(languages: %s)",
			base, list);
}

/* ---- code ---- */

static int read_file(const char *path, struct source *ret, struct sbx_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;

	if (fd < 0)
		return cli_fail(err, SBX_E_INVALID, "cannot open '%.256s': %s", path,
				strerror(errno));
	r = file_read(fd, path, CODE_READ_MAX, &ret->code, &ret->code_len, err);
	close(fd);
	return r;
}

static int read_stdin(struct source *ret, struct sbx_error *err)
{
	ret->from_stdin = true;
	if (isatty(STDIN_FILENO))
		dprintf(STDERR_FILENO, "Type %s code, then Ctrl-D.\n", ret->language->title);
	return file_read(STDIN_FILENO, "stdin", CODE_READ_MAX, &ret->code, &ret->code_len, err);
}

static int copy_code(const char *code, struct source *ret, struct sbx_error *err)
{
	ret->code = strdup(code);
	if (ret->code == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	ret->code_len = strlen(code);
	return 0;
}

int source_read(const struct invocation *inv, const struct settings *s, struct source *ret,
		struct sbx_error *err)
{
	/* Before "--" stands a file, behind it only arguments. */
	bool has_word = s->code == NULL && !inv->separated && inv->rest[0] != NULL;
	const char *path = has_word && strcmp(inv->rest[0], "-") != 0 ? inv->rest[0] : NULL;

	*ret = (struct source){.args = inv->rest + (has_word ? 1 : 0)};
	if (has_word && ret->args[0] != NULL && strcmp(ret->args[0], "--") == 0)
		ret->args++;
	if (choose_language(s->language, path, ret, err) < 0)
		return -(int)err->code;
	if (s->code != NULL)
		return copy_code(s->code, ret, err);
	return path ? read_file(path, ret, err) : read_stdin(ret, err);
}

void source_prepare(const struct sbx_language_info *language)
{
	struct sbx_error ignored;
	char line[128];

	snprintf(line, sizeof(line), "preparing %s, once on this machine, up to a minute ...\n",
		 language->title);
	signals_say_later(line);
	sbx_language_prepare(language->id, &ignored);
	signals_be_quiet();
}
