/* SPDX-License-Identifier: MIT */
/* Run a Python program in a sandbox and say what came of it. */
#include <llmsandbox/session.h>

#include <stdio.h>
#include <string.h>

static int report(const struct sbx_result *result)
{
	printf("%s", result->out.data);
	printf("exit code %d, %s, %.1f ms, %llu KiB\n", result->exit_code,
	       sbx_reason_name(result->reason), (double)result->timings.run / 1e6,
	       (unsigned long long)result->peak_memory_bytes / 1024);
	return result->exit_code;
}

int main(void)
{
	const char *code = "print('hello from', __import__('os').getcwd())\n";
	struct sbx_run run = {.language = "python", .code = code, .code_len = strlen(code)};
	struct sbx_session *session = NULL;
	struct sbx_result *result = NULL;
	struct sbx_spec *spec = NULL;
	struct sbx_error err;
	int status = 1;

	if (sbx_spec_new(&spec, &err) == 0 &&
	    sbx_spec_set_limit(spec, SBX_LIMIT_WALL_MS, 5000, &err) == 0 &&
	    sbx_session_open(spec, &session, &err) == 0 &&
	    sbx_session_run(session, &run, &result, &err) == 0)
		status = report(result);
	else
		fprintf(stderr, "hello: %s\n", err.msg);

	sbx_result_free(result);
	sbx_session_close(session);
	sbx_spec_free(spec);
	return status;
}
