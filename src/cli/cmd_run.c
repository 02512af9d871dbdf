/* SPDX-License-Identifier: MIT */
#include "command.h"
#include "complain.h"
#include "perform.h"

#include <llmsandbox/language.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CODE_MAX ((size_t)64 << 20) /* as sbx_session_run() takes */

/* All that fd gives, at most CODE_MAX; the caller frees it. NULL: told on stderr. */
static char *read_code(int fd, const char *name, size_t *ret_len)
{
	size_t size = 65536, len = 0;
	char *data = malloc(size);
	ssize_t n = 1;

	while (data != NULL && n > 0 && len <= CODE_MAX) {
		if (len == size) {
			char *grown = realloc(data, size *= 2);

			if (grown == NULL)
				free(data);
			data = grown;
			continue;
		}
		n = read(fd, data + len, size - len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			len += (size_t)n;
	}
	if (data != NULL && n >= 0 && len <= CODE_MAX) {
		*ret_len = len;
		return data;
	}
	if (len > CODE_MAX)
		complain("the code in '%.200s' is larger than 64 MiB", name);
	else
		complain("cannot read '%.200s': %s", name, strerror(errno));
	free(data);
	return NULL;
}

static char *read_file(const char *path, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *code = NULL;

	if (fd < 0 || fstat(fd, &st) < 0)
		complain("cannot open '%.200s': %s", path, strerror(errno));
	else if (S_ISDIR(st.st_mode))
		complain("'%.200s' is a folder, not code", path);
	else
		code = read_code(fd, path, ret_len);
	if (fd >= 0)
		close(fd);
	return code;
}

static int find_language(struct performance *p, const char *file)
{
	const char *name = p->options->value[OPT_LANGUAGE];
	const struct sbx_language_info *info = name ? sbx_language_find(name)
					       : file ? sbx_language_guess(file) : NULL;

	if (info != NULL) {
		p->run.language = info->id;
		return 0;
	}
	if (name != NULL)
		complain("unknown language '%.64s'", name);
	else
		complain("which language is this? say it with -l");
	fputs("llm-sandbox: the languages are", stderr);
	for (size_t i = 0; (info = sbx_language_at(i)) != NULL; i++)
		fprintf(stderr, "%s %s", i > 0 ? "," : "", info->id);
	fputc('\n', stderr);
	return -1;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Where the code comes from, in the order of -c, FILE, stdin. *at: behind FILE. */
static int find_code(struct performance *p, int argc, char **argv, bool ended, int *at,
		     char **ret_owned)
{
	const char *text = p->options->value[OPT_CODE];
	const char *file = text == NULL && !ended && *at < argc ? argv[(*at)++] : NULL;
	bool from_stdin = text == NULL && (file == NULL || strcmp(file, "-") == 0);

	if (find_language(p, from_stdin ? NULL : file) < 0)
		return STATUS_USAGE;
	p->run.io.use_stdin_fd = !from_stdin;
	if (text != NULL) {
		p->run.code = text;
		p->run.code_len = strlen(text);
		return STATUS_OK;
	}
	*ret_owned = from_stdin ? read_code(STDIN_FILENO, "stdin", &p->run.code_len)
				: read_file(file, &p->run.code_len);
	p->run.code = *ret_owned;
	if (!from_stdin)
		p->run.file_name = base_name(file);
	return *ret_owned ? STATUS_OK : STATUS_FAILURE;
}

static int run(const struct command *self, int argc, char **argv)
{
	static struct options o;
	struct performance p = {.options = &o};
	char *owned = NULL;
	bool ended;
	int first = spec_from_command(self->options, argc, argv, &o, &p.spec, &ended), status;

	if (first < 0)
		return perform_end(&p, STATUS_USAGE);
	if (first == 0) {
		command_print_help(self);
		return STATUS_OK;
	}
	status = find_code(&p, argc, argv, ended, &first, &owned);
	if (status == STATUS_OK) {
		if (first < argc && strcmp(argv[first], "--") == 0)
			first++;
		p.run.args = (const char *const *)argv + first;
		status = perform(&p);
	} else {
		perform_end(&p, status);
	}
	free(owned);
	return status;
}

const struct command cmd_run = {
	.name = "run",
	.usage = "run [OPTIONS] [FILE | - | -c CODE] [--] [ARGS]",
	.summary = "Run code in a fresh sandbox; without FILE and -c it is read from stdin.",
	.options = FOR_RUN,
	.run = run,
};
