/* SPDX-License-Identifier: MIT */
#include "cli/repl_commands.h"

#include "cli/cell.h"
#include "cli/closest.h"
#include "cli/files.h"
#include "cli/listing.h"
#include "cli/terminal.h"
#include "cli/trouble.h"

#include <llmsandbox/language.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIBRARIES_MAX 256

/* ---- text ---- */

bool repl_text_add(struct repl_text *text, const char *more)
{
	size_t len = strlen(more);
	char *grown;

	if (len > REPL_TEXT_MAX - text->len)
		return false;
	grown = realloc(text->data, text->len + len + 1);
	if (grown == NULL)
		return false;
	memcpy(grown + text->len, more, len + 1);
	text->data = grown;
	text->len += len;
	return true;
}

void repl_text_clear(struct repl_text *text)
{
	text->len = 0;
	if (text->data != NULL)
		text->data[0] = '\0';
}

void repl_text_done(struct repl_text *text)
{
	free(text->data);
	*text = (struct repl_text){0};
}

/* With a line between two, so that what is saved can be given back to us. */
void repl_keep_cell(struct repl *r, const char *code)
{
	char border[16];

	snprintf(border, sizeof(border), "%s %%%%\n", cell_comment(r->language->id));
	if (r->kept.len > 0 && !repl_text_add(&r->kept, border))
		return;
	repl_text_add(&r->kept, code);
}

char *repl_version(const struct repl *r)
{
	auto_free struct sbx_kernel_info *list = NULL;
	struct sbx_error ignored;
	size_t count = 0;

	if (site_kernels(&r->site, &list, &count, &ignored) < 0)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i].name, r->job.kernel) == 0)
			return listing_tame(list[i].version);
	}
	return NULL;
}

/* ---- the commands ---- */

static void act_on_kernel(struct repl *r, enum site_act act, const char *done)
{
	struct sbx_error err;

	if (site_kernel(&r->site, act, r->job.kernel, NULL, &err) < 0)
		cli_say("%s", err.msg);
	else
		printf("%s\n", done);
}

static void reset(struct repl *r, char *argument)
{
	(void)argument;
	act_on_kernel(r, SITE_RESET, "Its variables, imports and functions are forgotten.");
}

static void restart(struct repl *r, char *argument)
{
	(void)argument;
	/* One that has to see libraries is started by its next cell, which says which. */
	act_on_kernel(r, r->job.libraries ? SITE_END : SITE_RESTART,
		      "The kernel was started anew; its state is gone.");
}

static void show_history(struct repl *r, char *argument)
{
	(void)argument;
	if (r->kept.len == 0)
		printf("No cell was sent yet.\n");
	else
		terminal_print(r->kept.data, r->kept.len, stdout);
}

static void save(struct repl *r, char *argument)
{
	const char *data = r->kept.len ? r->kept.data : "";
	int fd, failed;

	if (argument[0] == '\0') {
		cli_say("save where? Write :save FILE");
		return;
	}
	fd = open(argument, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	failed = fd < 0 ? -errno : file_write(fd, data, r->kept.len);
	if (fd >= 0 && close(fd) < 0 && failed == 0)
		failed = -errno;
	if (failed < 0)
		cli_say("cannot save '%.256s': %s", argument, strerror(-failed));
	else
		printf("Saved.\n");
}

static void tell_artifacts(struct repl *r, char *argument)
{
	auto_free char *folder = listing_tame(r->folder);

	(void)argument;
	if (r->artifact_count == 0)
		printf("None yet; plots and files go to %s\n", folder ? folder : "?");
	else
		printf("%zu in %s\n", r->artifact_count, folder ? folder : "?");
}

static size_t count_libraries(char **list)
{
	size_t n = 0;

	while (list != NULL && list[n] != NULL)
		n++;
	return n;
}

void repl_free_libraries(struct repl *r)
{
	for (size_t i = count_libraries(r->settings->libraries); i < count_libraries(r->libraries);
	     i++)
		free(r->libraries[i]);
	free(r->libraries);
}

/* All that cells had before, and this one: a set of libraries is installed together. */
static char **with_library(const struct repl *r, const char *name)
{
	size_t n = count_libraries(r->job.libraries);
	char **list = n < LIBRARIES_MAX ? calloc(n + 2, sizeof(*list)) : NULL;

	if (list == NULL)
		return NULL;
	if (n > 0)
		memcpy(list, r->job.libraries, n * sizeof(*list));
	list[n] = strdup(name);
	if (list[n] != NULL)
		return list;
	free(list);
	return NULL;
}

static void add_library(struct repl *r, char *argument)
{
	struct sbx_error err;
	char **list;

	if (argument[0] == '\0') {
		cli_say("which library? Write :lib NAME");
		return;
	}
	list = with_library(r, argument);
	if (list == NULL) {
		cli_say("no more than %d libraries", LIBRARIES_MAX);
		return;
	}
	if (site_install(&r->site, r->language->id, list, r->settings->offline, &err) < 0) {
		cli_say("%s", err.msg);
		free(list[count_libraries(list) - 1]);
		free(list);
		return;
	}
	free(r->libraries);
	r->libraries = list;
	r->job.libraries = list;
	printf("The next cell has it.\n");
}

static void quit(struct repl *r, char *argument)
{
	(void)argument;
	r->leaving = true;
}

static void help(struct repl *r, char *argument);

static const struct {
	const char *name, *argument, *text;
	void (*act)(struct repl *r, char *argument);
} commands[] = {
	{"help", "", "this list", help},
	{"reset", "", "forget variables, imports and functions", reset},
	{"restart", "", "end the kernel's process and start another", restart},
	{"history", "", "the cells that were sent", show_history},
	{"save", "FILE", "write them to a new file on this machine", save},
	{"artifacts", "", "how many plots and files there were, and where they are",
	 tell_artifacts},
	{"lib", "NAME", "install a library", add_library},
	{"quit", "", "end, as Ctrl-D does", quit},
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void help(struct repl *r, char *argument)
{
	(void)r;
	(void)argument;
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		printf("  :%s%s%-*s %s\n", commands[i].name, commands[i].argument[0] ? " " : "",
		       (int)(14 - strlen(commands[i].name) - (commands[i].argument[0] != '\0')),
		       commands[i].argument, commands[i].text);
	printf("Lines are sent when they are whole; an empty line ends a block, two end anything.\n"
	       "Ctrl-C interrupts what runs, and variables stay; twice, it ends the kernel.\n");
}

void repl_command(struct repl *r, char *line)
{
	char *name = line + 1, *argument = name + strcspn(name, " \t");
	struct closest closest = {.typed = name};
	size_t len;

	if (*argument != '\0') {
		*argument++ = '\0';
		argument += strspn(argument, " \t");
	}
	for (len = strlen(argument); len > 0 && argument[len - 1] == ' '; len--)
		argument[len - 1] = '\0';
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(commands[i].name, name) == 0) {
			commands[i].act(r, argument);
			fflush(stdout);
			return;
		}
		closest_offer(&closest, commands[i].name);
	}
	cli_say("there is no command ':%.64s'%s", name,
		closest.best ? closest_hint(&closest, ":") : "; :help lists them");
}
