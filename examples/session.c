/* SPDX-License-Identifier: MIT */
/*
 * A session in several steps: a file goes in, a server starts in the background, code asks it, and
 * what the code made is read.
 */
#include <llmsandbox/files.h>
#include <llmsandbox/session.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char table[] = "name,points\nada,3\ngrace,4\n";

/* Answers on the sandbox's own loopback, which is all the network that it has. */
static const char *const server[] = {"python3", "-m",	       "http.server", "--bind",
				     "127.0.0.1", "8000", NULL};

static const char code[] =
	"import time, urllib.request\n"
	"def fetch():\n"
	"    for attempt in range(100):\n"
	"        try:\n"
	"            return urllib.request.urlopen('http://127.0.0.1:8000/table.csv').read()\n"
	"        except OSError:\n"
	"            time.sleep(0.05)\n"
	"rows = fetch().decode().splitlines()[1:]\n"
	"print(sum(int(row.split(',')[1]) for row in rows), file=open('sum.txt', 'w'))\n";

static int run_code(struct sbx_session *session, struct sbx_error *err)
{
	struct sbx_run run = {.language = "python", .code = code, .code_len = strlen(code)};
	struct sbx_result *result = NULL;
	int r = sbx_session_run(session, &run, &result, err);

	if (r == 0 && result->exit_code != 0)
		fprintf(stderr, "%s", result->errout.data);
	sbx_result_free(result);
	return r;
}

static int print_file(struct sbx_session *session, const char *path, struct sbx_error *err)
{
	char *data = NULL;
	size_t len = 0;
	int r = sbx_session_read_file(session, path, 0, 4096, &data, &len, NULL, err);

	if (r == 0)
		printf("%s: %s", path, data);
	free(data);
	return r;
}

static int work(struct sbx_session *session, struct sbx_error *err)
{
	struct sbx_command command = {.argv = server};
	struct sbx_process *process = NULL;
	int r = sbx_session_write_file(session, "table.csv", table, strlen(table),
				       SBX_WRITE_REPLACE, err);

	if (r == 0)
		r = sbx_session_start(session, &command, &process, err);
	if (r == 0)
		r = run_code(session, err);
	if (r == 0)
		r = print_file(session, "sum.txt", err);
	sbx_process_free(process);
	return r;
}

int main(void)
{
	struct sbx_session *session = NULL;
	struct sbx_spec *spec = NULL;
	struct sbx_error err;
	int r = sbx_spec_new(&spec, &err);

	if (r == 0)
		r = sbx_session_open(spec, &session, &err);
	if (r == 0)
		r = work(session, &err);
	if (r < 0)
		fprintf(stderr, "session: %s\n", err.msg);
	sbx_session_close(session);
	sbx_spec_free(spec);
	return r < 0;
}
