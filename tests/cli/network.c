/* SPDX-License-Identifier: MIT */
/* `--network` and `--allow`, with a server of the test on loopback. */
#include "cli/session.h"

#include <stdio.h>

/* Through the proxy also to loopback, which its own variable would except: python asks it itself.
 */
static const char server[] =
	"echo served > index.html\n"
	"exec 3< <(exec python3 -u -m http.server --bind 127.0.0.1 0 2>/dev/null); server=$!\n"
	"trap 'kill $server' EXIT\n"
	"read -r -u 3 line; port=${line#*port }; port=${port%% *}\n"
	"get=\"import os, http.client as h, urllib.parse as p\n"
	"u = p.urlparse(os.environ['http_proxy']); c = h.HTTPConnection(u.hostname, u.port)\n"
	"c.request('GET', 'http://127.0.0.1:$port/'); print(c.getresponse().status)\"\n";

/* The script goes on where the server is; what it prints is compared. */
static const struct ran *with_server(struct cli_state *t, const char *script)
{
	char text[4096];

	snprintf(text, sizeof(text), "%s%s", server, script);
	return shell(t, text);
}

static bool has_network(void)
{
	if (is_fake())
		print_message("only where programs are behind a proxy\n");
	return !is_fake();
}

static void what_is_allowed_can_be_reached(void **state)
{
	const struct ran *r;

	if (!has_network())
		skip();
	r = with_server(*state, "llm-sandbox run --allow 127.0.0.1:$port -l python -c \"$get\"");
	assert_string_equal(r->out, "200\n");
	r = with_server(*state, "export LLM_SANDBOX_ALLOW=127.0.0.1:$port\n"
				"llm-sandbox run -l python -c \"$get\"");
	assert_string_equal(r->out, "200\n");
	r = with_server(*state,
			"printf \"network: allow\\nallow:\\n  - 127.0.0.1:$port\\n\" > c.yaml\n"
			"llm-sandbox run --config c.yaml -l python -c \"$get\"");
	assert_string_equal(r->out, "200\n");
}

static void what_is_refused_is_told(void **state)
{
	const struct ran *r;

	if (!has_network())
		skip();
	r = with_server(*state, "llm-sandbox run --network open -l python -c \"$get\"");
	assert_string_equal(r->out, "403\n");
	assert_contains(r->err,
			"llm-sandbox: network: 1 attempt was refused, the first to 127.0.0.1:");
	/* Without a network there is no proxy, and none wins over what a file allows. */
	r = with_server(
		*state,
		"llm-sandbox run -l python -c \"$get\"; "
		"LLM_SANDBOX_ALLOW=127.0.0.1:$port llm-sandbox run --network none -l python "
		"-c \"$get\"");
	assert_string_equal(r->out, "");
	assert_contains(r->err, "KeyError: 'http_proxy'");
}

static void a_session_has_the_network_of_its_start(void **state)
{
	const struct ran *r;

	if (!has_network())
		skip();
	r = with_server(*state,
			"llm-sandbox session start a --allow 127.0.0.1:$port\n"
			"llm-sandbox run -S a -l python -c \"$get\"; port=1\n"
			"llm-sandbox run -S a -l python -c \"${get/:[0-9]*\\//:1/}\"\n"
			"llm-sandbox run -S a --network open -l python -c \"$get\"; echo $?");
	assert_string_equal(r->out, "a\n200\n403\n2\n");
	assert_contains(r->err, "the first to 127.0.0.1:1:");
	assert_contains(r->err, "--network cannot change in a session");
}

static void a_malformed_rule_is_refused(void **state)
{
	struct cli_state *t = *state;
	const struct ran *r =
		program(t, (struct call){0}, "exec", "--allow", "a*b", "--", "true", NULL);

	assert_status(r, 2);
	assert_contains(r->err, "--allow: the rule 'a*b'");
	r = program(t, (struct call){0}, "exec", "--network", "all", "--", "true", NULL);
	assert_status(r, 2);
	assert_contains(r->err, "none, allow, packages, open");
	r = program(t, (struct call){0}, "exec", "--connections", "0", "--", "true", NULL);
	assert_status(r, 2);
}

int network_group(void)
{
	const struct CMUnitTest tests[] = {
		session_test(what_is_allowed_can_be_reached),
		session_test(what_is_refused_is_told),
		session_test(a_session_has_the_network_of_its_start),
		session_test(a_malformed_rule_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
