/* SPDX-License-Identifier: MIT */
#include "libraries/repository.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"

static char folder[64], address[64];
static pid_t server = -1;
static int server_stdin = -1;

/* What would lead a manager somewhere else. */
static const char *const variables[] = {"PIP_INDEX_URL",       "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS",
					"PIP_NO_INDEX",	       "PIP_CONFIG_FILE",     "NPM_CONFIG_REGISTRY",
					"npm_config_registry", "GEMRC",		      "R_REPO"};

const char *repository_address(void)
{
	return address;
}

const char *repository_folder(void)
{
	return folder;
}

const char *repository_path(const char *name)
{
	static char paths[4][512];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

bool wait_until(bool (*is_true)(void *userdata), void *userdata)
{
	struct timespec moment = {.tv_nsec = 5000000};

	for (int i = 0; i < 12000; i++) {
		if (is_true(userdata))
			return true;
		nanosleep(&moment, NULL);
	}
	return false;
}

/* ---- the server ---- */

static const char *script(void)
{
	const char *path = getenv("SBX_TEST_REPOSITORY");

	return path ? path : "tests/libraries/repository.py";
}

static int start_server(void)
{
	int in[2], out[2];
	char port[16] = "";
	ssize_t n;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return -1;
	server = fork();
	if (server == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execlp("python3", "python3", script(), repository_path("repository"), NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	server_stdin = in[1];
	n = server < 0 ? -1 : read(out[0], port, sizeof(port) - 1);
	close(out[0]);
	if (n <= 0)
		return -1;
	snprintf(address, sizeof(address), "127.0.0.1:%d", atoi(port));
	return 0;
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (f != NULL) {
		fputs(text, f);
		fclose(f);
	}
}

int repository_setup_real(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/sbx-libraries-XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	mkdir(repository_path("cache"), 0700);
	return setenv("XDG_CACHE_HOME", repository_path("cache"), 1);
}

int repository_setup(void **state)
{
	char text[256];

	if (repository_setup_real(state) < 0 || start_server() < 0)
		return -1;
	mkdir(repository_path("home"), 0700);
	snprintf(text, sizeof(text), "---\n:sources:\n- http://%s/gems/\n", address);
	write_text(repository_path("home/gemrc"), text);
	repository_use();
	return 0;
}

int repository_teardown(void **state)
{
	(void)state;
	if (server_stdin >= 0)
		close(server_stdin);
	if (server > 0)
		waitpid(server, NULL, 0);
	sbx_remove_tree(folder);
	return 0;
}

/* ---- the environment ---- */

static void set_url(const char *name, const char *path)
{
	char url[256];

	snprintf(url, sizeof(url), "http://%s%s", address, path);
	setenv(name, url, 1);
}

void repository_use(void)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
	set_url("PIP_INDEX_URL", "/simple/");
	set_url("NPM_CONFIG_REGISTRY", "/npm/");
	set_url("R_REPO", "/cran");
	setenv("GEMRC", repository_path("home/gemrc"), 1);
	setenv("HOME", repository_path("home"), 1);
}

size_t repository_requests(const char *part)
{
	FILE *f = fopen(repository_path("repository/requests"), "r");
	char line[1024];
	size_t count = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		count += strstr(line, part) != NULL;
	if (f != NULL)
		fclose(f);
	return count;
}

void repository_release(bool give)
{
	if (give)
		write_text(repository_path("repository/go"), "");
	else
		unlink(repository_path("repository/go"));
}
