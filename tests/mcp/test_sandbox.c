/* SPDX-License-Identifier: MIT */
/* The parts of our MCP server that need no sandbox: the original's environment, and cut texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "egress/policy.h"
#include "egress/rule.h"
#include "mcp/sandbox/clip.h"
#include "mcp/sandbox/environment.h"
#include "mcp/sandbox/file_uri.h"
#include "mcp/sandbox/libraries.h"
#include "mcp/sandbox/mime.h"
#include "mcp/sandbox/network.h"
#include "mcp/sandbox/picture.h"
#include "mcp/sandbox/shelf.h"

#define MIB ((uint64_t)1 << 20)

/* ---- environment ---- */

#define read_environment(e, ...) \
	mcp_environment_read((const char *const[]){__VA_ARGS__, NULL}, e, &(struct sbx_error){0})

static void an_empty_environment_asks_for_nothing(void **state)
{
	struct mcp_environment e;

	(void)state;
	assert_int_equal(read_environment(&e, "HOME=/root", "SANDBOX_OTHER=x"), 0);
	assert_string_equal(e.backend, "native");
	assert_int_equal(e.memory_bytes, 0);
	assert_int_equal(e.cpu_milli, 0);
}

struct row {
	const char *variable;
	uint64_t value; /* of what is set, or 0 */
};

/* Case 92, its first part. */
static void memory_is_read_as_the_original_reads_it(void **state)
{
	static const struct row good[] = {
		{"SANDBOX_MEM_LIMIT=512m", 512 * MIB},
		{"SANDBOX_MEMORY=2g", 2048 * MIB},
		{"SANDBOX_MEM_LIMIT=1GB", 1024 * MIB},
		{"SANDBOX_MEMORY= 65536k ", 64 * MIB},
		{"SANDBOX_MEMORY=16777216", 16 * MIB},
		{"SANDBOX_MEMORY=0.5g", 512 * MIB},
		{"SANDBOX_MEMORY=256m", 256 * MIB},
		{"SANDBOX_MEM_LIMIT=", 0},
		{"SANDBOX_MEM_LIMIT=  ", 0},
	};
	static const char *const bad[] = {
		"SANDBOX_MEMORY=x",	"SANDBOX_MEMORY=-1m",  "SANDBOX_MEMORY=1x",
		"SANDBOX_MEM_LIMIT=1k", "SANDBOX_MEM_LIMIT=m", "SANDBOX_MEM_LIMIT=9999999999999t"};
	struct mcp_environment e;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(read_environment(&e, good[i].variable), 0);
		assert_int_equal(e.memory_bytes, good[i].value);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(read_environment(&e, bad[i]) < 0);
	assert_int_equal(read_environment(&e, "SANDBOX_MEMORY=1g", "SANDBOX_MEM_LIMIT=512m"), 0);
	assert_int_equal(e.memory_bytes, 512 * MIB);
	assert_int_equal(read_environment(&e, "SANDBOX_MEMORY=256m", "SANDBOX_MEM_LIMIT= "), 0);
	assert_int_equal(e.memory_bytes, 256 * MIB);
}

/* Case 91, its first two parts. */
static void cpus_are_read_as_the_original_reads_them(void **state)
{
	static const struct row good[] = {{"SANDBOX_CPU_COUNT=2", 2000},
					  {"SANDBOX_CPUS=1.5", 1500},
					  {"SANDBOX_CPUS= 3 ", 3000},
					  {"SANDBOX_CPUS=0.5", 500},
					  {"SANDBOX_CPUS=0.25", 250}};
	static const char *const bad[] = {"SANDBOX_CPU_COUNT=2.5", "SANDBOX_CPU_COUNT=0",
					  "SANDBOX_CPU_COUNT=",	   "SANDBOX_CPU_COUNT=two",
					  "SANDBOX_CPUS=0",	   "SANDBOX_CPUS= ",
					  "SANDBOX_CPUS=0.000001", "SANDBOX_CPUS=-1",
					  "SANDBOX_CPUS=nan"};
	struct mcp_environment e;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(read_environment(&e, good[i].variable), 0);
		assert_int_equal(e.cpu_milli, good[i].value);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(read_environment(&e, bad[i]) < 0);
	assert_int_equal(read_environment(&e, "SANDBOX_CPUS=0.5", "SANDBOX_CPU_COUNT=2"), 0);
	assert_int_equal(e.cpu_milli, 2000);
}

static void sessions_have_limits_of_their_own(void **state)
{
	static const char *const bad[] = {"SANDBOX_SESSIONS=0", "SANDBOX_SESSIONS=1.5",
					  "SANDBOX_SESSION_IDLE=never", "SANDBOX_SESSION_IDLE=-1",
					  "SANDBOX_SESSION_LIFETIME=99999999"};
	struct mcp_environment e;

	(void)state;
	assert_int_equal(read_environment(&e, "SANDBOX_SESSIONS=7", "SANDBOX_SESSION_IDLE=60",
					  "SANDBOX_SESSION_LIFETIME= 120 "),
			 0);
	assert_int_equal(e.sessions, 7);
	assert_int_equal(e.idle_ms, 60000);
	assert_int_equal(e.lifetime_ms, 120000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(read_environment(&e, bad[i]) < 0);
}

static void the_network_is_bounded_by_the_environment(void **state)
{
	static const struct {
		const char *mode, *hosts;
		enum sbx_network_mode most;
		size_t rules;
	} good[] = {
		{"SANDBOX_NETWORK=open", "X=", SBX_NETWORK_OPEN, 0},
		{"SANDBOX_NETWORK=packages", "SANDBOX_ALLOW=a.example", SBX_NETWORK_PACKAGES, 1},
		{"SANDBOX_NETWORK=", "SANDBOX_ALLOW= a.example , *.b.example:80,",
		 SBX_NETWORK_ALLOW, 2},
	};
	static const char *const bad[] = {"SANDBOX_NETWORK=all", "SANDBOX_ALLOW=a b",
					  "SANDBOX_ALLOW=http://x"};
	struct mcp_environment e;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(read_environment(&e, good[i].mode, good[i].hosts), 0);
		assert_int_equal(e.network->mode, good[i].most);
		assert_int_equal(e.network->rule_count, good[i].rules);
		mcp_environment_done(&e);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(read_environment(&e, bad[i]) < 0);
}

/* One that may be on a private address at one port may not at the other. */
static void a_wish_for_two_ports_gets_what_both_have(void **state)
{
	static const struct {
		bool http, https;
	} rows[] = {{false, false}, {true, false}, {false, true}, {true, true}};
	json_t *wish = json_pack("{s:[s]}", "allow", "a.example");
	struct sbx_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mcp_environment e = {0};
		struct sbx_network *network = NULL;

		assert_int_equal(sbx_network_new(SBX_NETWORK_ALLOW, &e.network, &err), 0);
		sbx_network_allow(e.network, "a.example:80", rows[i].http, &err);
		sbx_network_allow(e.network, "a.example:443", rows[i].https, &err);
		assert_int_equal(mcp_network_make(&e, wish, &network, &err), 0);
		assert_int_equal(network->rule_count, 1);
		assert_int_equal(network->rules[0].may_be_private,
				 rows[i].http && rows[i].https);
		sbx_network_free(network);
		mcp_environment_done(&e);
	}
	json_decref(wish);
}

static void installing_can_be_switched_off(void **state)
{
	static const struct {
		const char *variable;
		enum mcp_install_mode mode;
	} good[] = {
		{"SANDBOX_INSTALL=", MCP_INSTALL_ON},
		{"SANDBOX_INSTALL=on", MCP_INSTALL_ON},
		{"SANDBOX_INSTALL= Off ", MCP_INSTALL_OFF},
		{"SANDBOX_INSTALL=no", MCP_INSTALL_OFF},
		{"SANDBOX_INSTALL=OFFLINE", MCP_INSTALL_OFFLINE},
	};
	struct mcp_environment e;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(read_environment(&e, good[i].variable), 0);
		assert_int_equal(e.install, good[i].mode);
	}
	assert_true(read_environment(&e, "SANDBOX_INSTALL=sometimes") < 0);
}

static void what_an_answer_shows_is_bounded_by_the_environment(void **state)
{
	static const char *const bad[] = {"SANDBOX_ARTIFACTS=some", "SANDBOX_STRUCTURED=2",
					  "SANDBOX_IMAGE_BYTES=big", "SANDBOX_EMBED_BYTES=-1",
					  "SANDBOX_ANSWER_BYTES=65m"};
	struct mcp_environment e;

	(void)state;
	assert_int_equal(read_environment(&e, "X="), 0);
	assert_true(e.artifacts && e.structured);
	assert_true(e.embed_bytes < e.image_bytes && e.image_bytes < e.answer_bytes);
	/* All of it in base64, and two streams of the usual length twice, in a megabyte. */
	assert_true(e.answer_bytes / 3 * 4 + 4 * 30000 < 1 << 20);
	assert_int_equal(read_environment(&e, "SANDBOX_ARTIFACTS=off", "SANDBOX_STRUCTURED= No ",
					  "SANDBOX_IMAGE_BYTES=100k", "SANDBOX_EMBED_BYTES=0",
					  "SANDBOX_ANSWER_BYTES=4m"),
			 0);
	assert_false(e.artifacts || e.structured);
	assert_int_equal(e.image_bytes, 100 << 10);
	assert_int_equal(e.embed_bytes, 0);
	assert_int_equal(e.answer_bytes, 4 << 20);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(read_environment(&e, bad[i]) < 0);
}

static void a_package_is_known_by_its_requirement(void **state)
{
	static const struct {
		const char *language, *requirement, *package;
		bool is_of;
	} rows[] = {
		{"python", "Foo_Bar[x]>=2", "foo-bar", true},
		{"python", "foo", "foo-bar", false},
		{"python", "foo-bar", "foo", false},
		{"javascript", "@a/b@4", "@a/b", true},
		{"java", "org.x:y:2.0", "org.x:y", true},
		{"java", "org.x:yz:2.0", "org.x:y", false},
		{"ruby", "rack:2.2.4", "rack", true},
		{"go", "a.example/x@v1", "a.example/x", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(
			mcp_library_is_of(rows[i].language, rows[i].requirement, rows[i].package),
			rows[i].is_of);
}

static void what_is_so_anyway_is_accepted(void **state)
{
	static const char *const good[] = {
		"BACKEND=native",
		"BACKEND= Native ",
		"BACKEND=",
		"SANDBOX_READ_ONLY=true",
		"SANDBOX_READ_ONLY= ON ",
		"SANDBOX_READ_ONLY=0",
		"SANDBOX_PRIVILEGED=false",
		"SANDBOX_PRIVILEGED=no",
		"SANDBOX_CAP_DROP=ALL",
		"SANDBOX_CAP_DROP=NET_RAW, ,CAP_CHOWN",
		"SANDBOX_CAP_DROP=",
		"SANDBOX_SECURITY_OPT=no-new-privileges",
		"SANDBOX_SECURITY_OPT= no-new-privileges:true ,",
		"SANDBOX_NETWORK_MODE=none",
		"SANDBOX_NETWORK_MODE=",
		"COMMIT_CONTAINER=false",
		"COMMIT_CONTAINER=maybe",
		"KEEP_TEMPLATE=0",
		"NAMESPACE=",
		"R_REPO=https://cran.example",
		"SANDBOX_IMAGE=python",
	};
	struct mcp_environment e;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(read_environment(&e, good[i]), 0);
}

static void what_engines_can_is_taken_with_one(void **state)
{
	static const struct {
		const char *variable, *name, *value; /* of runtime_configs; NULL: none */
	} rows[] = {
		{"SANDBOX_READ_ONLY=false", "read_only", "false"},
		{"SANDBOX_PRIVILEGED=true", "privileged", "true"},
		{"SANDBOX_CAP_DROP= ALL, ,NET_RAW", "cap_drop", NULL}, /* case 92: dropped anyway */
		{"SANDBOX_SECURITY_OPT=seccomp=unconfined,no-new-privileges", "security_opt",
		 "[\"seccomp=unconfined\"]"},
		{"SANDBOX_NETWORK_MODE=bridge", "network_mode", "\"bridge\""},
		{"SANDBOX_RUNTIME_CONFIGS={\"hostname\": \"a\"}", "hostname", "\"a\""},
		{"COMMIT_CONTAINER=yes", "", NULL},
		{"KEEP_TEMPLATE=false", "", NULL},
		{"SANDBOX_IMAGE=box:py", "", NULL},
		{"SANDBOX_PULL=never", "", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const variables[] = {"BACKEND=docker", rows[i].variable, NULL};
		struct mcp_environment e;
		struct sbx_error err;
		char *text;

		if (mcp_environment_read(variables, &e, &err) < 0)
			fail_msg("%s: %s", rows[i].variable, err.msg);
		text = json_dumps(json_object_get(e.runtime, rows[i].name),
				  JSON_COMPACT | JSON_ENCODE_ANY);
		if (rows[i].value != NULL)
			assert_string_equal(text, rows[i].value);
		else
			assert_null(text);
		free(text);
		mcp_environment_done(&e);
	}
}

/* What an operator says of all containers is the most that a call may ask for. */
static void limits_of_runtime_configs_are_the_servers(void **state)
{
	static const char configs[] =
		"SANDBOX_RUNTIME_CONFIGS={\"mem_limit\": \"256m\", \"cpu_quota\": 50000}";
	struct sbx_spec *config, *spec;
	struct mcp_environment e;

	(void)state;
	assert_int_equal(read_environment(&e, "BACKEND=docker", configs), 0);
	assert_int_equal(e.memory_bytes, 256 * MIB);
	assert_int_equal(e.cpu_milli, 500);
	assert_int_equal(sbx_spec_new(&config, NULL), 0);
	assert_int_equal(sbx_spec_set_limit(config, SBX_LIMIT_MEMORY_BYTES, 512 * MIB, NULL), 0);
	mcp_environment_set_limits(&e, config);
	assert_int_equal(mcp_environment_make_spec(&e, &spec, &(struct sbx_error){0}), 0);
	assert_int_equal(sbx_spec_get_limit(spec, SBX_LIMIT_MEMORY_BYTES), 256 * MIB);
	assert_int_equal(sbx_spec_get_limit(spec, SBX_LIMIT_CPU_MILLI), 500);
	sbx_spec_free(spec);
	mcp_environment_done(&e);
	assert_int_equal(read_environment(&e, "BACKEND=docker", configs, "SANDBOX_MEMORY=1g"), 0);
	assert_int_equal(e.memory_bytes, 1024 * MIB);
	sbx_spec_free(config);
	mcp_environment_done(&e);
}

/* Case 91, its last part. */
static void what_cannot_be_had_is_refused_by_its_name(void **state)
{
	static const char *const bad[] = {
		"BACKEND=Kubernetes",
		"BACKEND=nonsense",
		"BACKEND=0123456789012345678901234567890123456789",
		"SANDBOX_READ_ONLY=",
		"SANDBOX_READ_ONLY=maybe",
		"SANDBOX_PRIVILEGED=true",
		"SANDBOX_PRIVILEGED=",
		"SANDBOX_CAP_DROP=a b",
		"SANDBOX_SECURITY_OPT=seccomp=unconfined",
		"SANDBOX_NETWORK_MODE=bridge",
		"SANDBOX_NETWORK_MODE=host",
		"COMMIT_CONTAINER=yes",
		"KEEP_TEMPLATE=True",
		"SANDBOX_PULL=never",
		"SANDBOX_ENVIRONMENT=base",
		"NAMESPACE=default",
	};
	struct mcp_environment e;
	struct sbx_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *const variables[] = {bad[i], NULL};
		char name[64];

		assert_true(mcp_environment_read(variables, &e, &err) < 0);
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(bad[i], "="), bad[i]);
		if (strcmp(name, "BACKEND") != 0)
			assert_non_null(strstr(err.msg, name));
	}
}

/* ---- cut texts ---- */

/* As the library keeps output: the first and the last bytes. */
static struct sbx_output keep(char *data, size_t total, size_t head, size_t tail)
{
	struct sbx_output o = {.data = data, .len = total, .head_len = total, .total_bytes = total};

	if (total <= head + tail)
		return o;
	memmove(data + head, data + total - tail, tail);
	o.len = head + tail;
	o.head_len = head;
	o.truncated = true;
	return o;
}

static void short_output_is_whole(void **state)
{
	char text[] = "h\xc3\xa9llo";
	struct sbx_output o = keep(text, strlen(text), 1000, 1000);
	bool cut;
	json_t *value = mcp_clip(&o, 100, &cut);

	(void)state;
	assert_string_equal(json_string_value(value), "h\xc3\xa9llo");
	assert_false(cut);
	json_decref(value);
}

/* Every length, characters of every length, with and without bytes that the library dropped. */
static void no_character_is_cut_in_two(void **state)
{
	static const char *const characters[] = {"x", "\xc3\xa9", "\xe2\x82\xac",
						 "\xf0\x9f\x98\x80"};

	(void)state;
	for (size_t c = 0; c < 4; c++) {
		for (size_t count = 280; count < 1300; count += 7) {
			size_t width = c + 1;
			char *data = malloc(count * width + 2);
			struct sbx_output o;
			json_t *value;
			bool cut;

			data[0] = 'a'; /* so that the library's own cuts fall anywhere */
			for (size_t i = 0; i < count; i++)
				memcpy(data + 1 + i * width, characters[c], width);
			o = keep(data, 1 + count * width, mcp_clip_head_bytes(300) - count % 4,
				 mcp_clip_tail_bytes(300) - count % 3);
			value = mcp_clip(&o, 300, &cut);
			assert_non_null(value);
			assert_null(strstr(json_string_value(value), "\xef\xbf\xbd"));
			assert_int_equal(cut, count + 1 > 300);
			assert_int_equal(
				strstr(json_string_value(value), "output cut here") != NULL, cut);
			json_decref(value);
			free(data);
		}
	}
}

static void bytes_that_are_no_text_become_text(void **state)
{
	char data[] = "a\xff\xc3(\xe2\x82";
	struct sbx_output o = keep(data, 6, 1000, 1000);
	bool cut;
	json_t *value = mcp_clip(&o, 100, &cut);

	(void)state;
	assert_string_equal(json_string_value(value),
			    "a\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd");
	json_decref(value);
}

static void bytes_without_end_are_bounded(void **state)
{
	size_t head = mcp_clip_head_bytes(100), tail = mcp_clip_tail_bytes(100);
	char *data = malloc(10000);
	struct sbx_output o;
	bool cut;
	json_t *value;

	(void)state;
	memset(data, 0x80, 10000);
	o = keep(data, 10000, head, tail);
	value = mcp_clip(&o, 100, &cut);
	assert_true(cut);
	assert_true(json_string_length(value) < 3 * 100 + 100);
	assert_non_null(strstr(json_string_value(value), "of 10000"));
	json_decref(value);
	free(data);
}

/* ---- files ---- */

static void every_path_has_a_uri_that_leads_back(void **state)
{
	static const char *const paths[] = {"a",    "/etc/x", "a b/c%2F.txt", "\xff\x01?#\"",
					    "a//b", "%",      "\xc3\xa9"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		json_t *uri = mcp_file_uri("0123", paths[i]);
		char *id = NULL, *path = NULL;

		assert_true(mcp_file_uri_parse(json_string_value(uri), &id, &path));
		assert_string_equal(id, "0123");
		assert_string_equal(path, paths[i]);
		json_decref(uri);
		free(id);
		free(path);
	}
}

static void a_uri_of_no_file_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"sandbox://sessions/",
		"sandbox://sessions/0/files",
		"sandbox://sessions/0/files/",
		"sandbox://sessions/0/other/a",
		"sandbox://languages/python",
		"sandbox://sessions/0/files/a%",
		"sandbox://sessions/0/files/a%4",
		"sandbox://sessions/0/files/a%g0",
		"sandbox://sessions/0/files/a%00",
	};
	char *id = NULL, *path = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(mcp_file_uri_parse(bad[i], &id, &path));
	assert_null(id);
	assert_null(path);
}

static void a_file_is_known_by_its_bytes_and_then_by_its_name(void **state)
{
	static const struct {
		const char *path, *data, *mime_type;
	} files[] = {
		{"a", "x", "text/plain"},
		{"a", "", "text/plain"},
		{"a", "\xff", "application/octet-stream"},
		{"a.CSV", "1,2", "text/csv"},
		{"a.csv", "\xff\xfe", "application/octet-stream"},
		{"d.json/a", "{}", "text/plain"},
		{"d/a.json", "{}", "application/json"},
		{"a.txt", "\x89PNG\r\n\x1a\nrest", "image/png"},
		{"a.txt", "RIFF....WEBPVP8 ", "image/webp"},
		{"a.svg", "<svg/>", "image/svg+xml"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		assert_string_equal(
			mcp_mime_type(files[i].path, files[i].data, strlen(files[i].data), false),
			files[i].mime_type);
	assert_string_equal(mcp_mime_type("a", "x\0y", 3, true), "application/octet-stream");
}

static void a_character_that_is_cut_at_the_end_is_text_all_the_same(void **state)
{
	const char *text = "a\xf0\x9f\x98\x80";

	(void)state;
	for (size_t len = 0; len <= strlen(text); len++) {
		assert_true(mcp_is_text(text, len, true));
		assert_int_equal(mcp_whole_characters(text, len), len == 5 ? 5 : len > 0);
	}
	assert_false(mcp_is_text(text, 3, false));
	assert_false(mcp_is_text("\x80", 1, true));
	assert_false(mcp_is_text("\xf0\x80x", 3, true));
}

/* ---- artifacts ---- */

static void an_artifact_has_one_uri(void **state)
{
	static const uint32_t numbers[] = {1, 42, 4294967295u};
	static const char *const bad[] = {"", "0", "01", "-1", "+1", " 1", "1 ", "1x", "0x1",
					  "4294967296", "99999999999", "18446744073709551617", "1/2"};
	char uri[128], *id = NULL;
	uint32_t number;

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		json_t *made = mcp_artifact_uri("0123", numbers[i]);

		assert_true(mcp_artifact_uri_parse(json_string_value(made), &id, &number));
		assert_string_equal(id, "0123");
		assert_int_equal(number, numbers[i]);
		json_decref(made);
		free(id);
	}
	id = NULL;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(uri, sizeof(uri), "sandbox://sessions/0123/artifacts/%s", bad[i]);
		assert_false(mcp_artifact_uri_parse(uri, &id, &number));
	}
	assert_false(mcp_artifact_uri_parse("sandbox://sessions/0123/files/1", &id, &number));
	assert_null(id);
}

#define BYTES(text) text, sizeof(text) - 1
#define PNG_HEAD    "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
#define PNG_END	    "\0\0\0\0IEND\xae\x42\x60\x82"

static void only_whole_pictures_are_shown(void **state)
{
	static const struct {
		const char *mime_type, *data;
		size_t len;
		const char *problem; /* a part of it, or NULL */
	} rows[] = {
		{"image/png", BYTES(PNG_HEAD "\0\0\0\1\0\0\0\1" PNG_END "........." PNG_END), NULL},
		{"image/png", BYTES(PNG_HEAD "\0\0\x1f\x41\0\0\0\1........." PNG_END), "8000"},
		{"image/png", BYTES(PNG_HEAD "\xff\xff\xff\xff\0\0\0\1........." PNG_END), "8000"},
		{"image/png", BYTES(PNG_HEAD "\0\0\0\0\0\0\0\1........." PNG_END), "pixels"},
		{"image/png", BYTES(PNG_HEAD "\0\0\0\1\0\0\0\1........."), "cut off"},
		{"image/png", BYTES(PNG_HEAD), "cut off"},
		{"image/png", BYTES("GIF89a\1\0\1\0\0\0\0;"), "no PNG"},
		{"image/png", BYTES(""), "no PNG"},
		{"image/gif", BYTES("GIF89a\1\0\1\0\0\0\0;"), NULL},
		{"image/gif", BYTES("GIF89a\1\0\1\0\0\0\0"), "cut off"},
		{"image/gif", BYTES("GIF89a\1\0\x41\x1f\0\0\0;"), "8000"},
		{"image/jpeg",
		 BYTES("\xff\xd8\xff\xe0\0\4ab\xff\xc0\0\x0b\x08\0\2\0\3\1\0\0\0\xff\xd9"), NULL},
		{"image/jpeg", BYTES("\xff\xd8\xff\xe0\0\4ab\xff\xc0\0\x0b\x08\x1f\x41\0\3\1\0\0\0\xff\xd9"),
		 "8000"},
		{"image/jpeg", BYTES("\xff\xd8\xff\xe0\0\4ab"), "cut off"},
		{"image/jpeg", BYTES("\xff\xd8\xff\xe0\xff\xff\xff\xd9"), "no JPEG"},
		{"image/jpeg", BYTES("\xff\xd8\xff\xff\xff\xff\xff\xff\xff\xff\xff\xd9"), "no JPEG"},
		{"image/webp", BYTES("RIFF\x0c\0\0\0WEBPVP8 \0\0\0\0"), NULL},
		{"image/webp", BYTES("RIFF\xff\xff\xff\xffWEBPVP8 "), "cut off"},
		{"image/svg+xml", BYTES("<svg xmlns='x'></svg>"), NULL},
		{"image/svg+xml", BYTES("<svg xmlns='x'>"), "cut off"},
		{"image/svg+xml", BYTES("<html></html>"), "no SVG"},
		{"image/tiff", BYTES("II*\0"), "no picture"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* A copy of its own, so that a sanitizer sees who reads beyond the end. */
		char *data = malloc(rows[i].len + 1);
		const char *problem;

		memcpy(data, rows[i].data, rows[i].len);
		data = realloc(data, rows[i].len ? rows[i].len : 1);
		problem = mcp_picture_problem(rows[i].mime_type, data, rows[i].len);
		if (rows[i].problem == NULL)
			assert_null(problem);
		else
			assert_non_null(problem ? strstr(problem, rows[i].problem) : NULL);
		free(data);
	}
}

static void a_type_is_one_of_two_words(void **state)
{
	static const char *const good[] = {"image/png", "image/svg+xml", "application/vnd.a-b_c"};
	static const char *const bad[] = {"",	   "/",	      "image",	     "image/",
					  "/png",  "a/b/c",   "text/html; x", "image/png\"}",
					  "a b/c", "a/\xc3\xa9", "a/b\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(mcp_mime_is_type(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(mcp_mime_is_type(bad[i]));
}

/* Add artifacts of these numbers, whose path is given. */
static void add_artifacts(struct mcp_shelf *shelf, const char *session, uint32_t from,
			  uint32_t count, char *path)
{
	struct sbx_artifact *list = calloc(count, sizeof(*list));
	struct sbx_result result = {.artifacts = list, .artifact_count = count};

	for (uint32_t i = 0; i < count; i++) {
		list[i].number = from + i;
		list[i].path = path;
		strcpy(list[i].mime_type, "image/png");
	}
	mcp_shelf_add(shelf, session, &result);
	free(list);
}

static int find_artifact(struct mcp_shelf *shelf, const char *session, uint32_t number,
			 const char *path)
{
	char *found = NULL, mime_type[96];
	struct sbx_error err;
	int r = mcp_shelf_find(shelf, session, number, &found, mime_type, &err);

	if (r == 0) {
		assert_string_equal(found, path);
		assert_string_equal(mime_type, "image/png");
	}
	free(found);
	return r;
}

static void the_last_artifacts_of_a_session_are_known(void **state)
{
	char a[] = "/a", b[] = "/b", *long_path = malloc(4097);
	struct sbx_registry *registry;
	struct mcp_shelf shelf;
	struct sbx_error err;

	(void)state;
	assert_int_equal(sbx_registry_new(&(struct sbx_registry_limits){0}, &registry, &err), 0);
	mcp_shelf_init(&shelf, registry);
	add_artifacts(&shelf, "one", 1, 10, a);
	assert_int_equal(find_artifact(&shelf, "one", 10, a), 0);
	assert_true(find_artifact(&shelf, "one", 11, a) < 0);
	assert_true(find_artifact(&shelf, "two", 1, a) < 0);
	/* Numbers begin anew when a session is cleared. */
	add_artifacts(&shelf, "one", 3, 1, b);
	assert_int_equal(find_artifact(&shelf, "one", 3, b), 0);
	add_artifacts(&shelf, "one", 11, 10000, a);
	assert_true(find_artifact(&shelf, "one", 1, a) < 0);
	assert_int_equal(find_artifact(&shelf, "one", 11, a), 0);
	memset(long_path, 'x', 4096);
	long_path[4096] = '\0';
	add_artifacts(&shelf, "one", 20001, 2000, long_path);
	assert_true(find_artifact(&shelf, "one", 20001, long_path) < 0);
	assert_int_equal(find_artifact(&shelf, "one", 22000, long_path), 0);
	/* The registry knows no session "one": it has ended, as is found when there is another. */
	add_artifacts(&shelf, "two", 1, 1, a);
	assert_true(find_artifact(&shelf, "one", 22000, long_path) < 0);
	mcp_shelf_forget(&shelf, "two");
	assert_true(find_artifact(&shelf, "two", 1, a) < 0);
	mcp_shelf_done(&shelf);
	sbx_registry_free(registry);
	free(long_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_environment_asks_for_nothing),
		cmocka_unit_test(memory_is_read_as_the_original_reads_it),
		cmocka_unit_test(cpus_are_read_as_the_original_reads_them),
		cmocka_unit_test(sessions_have_limits_of_their_own),
		cmocka_unit_test(the_network_is_bounded_by_the_environment),
		cmocka_unit_test(a_wish_for_two_ports_gets_what_both_have),
		cmocka_unit_test(installing_can_be_switched_off),
		cmocka_unit_test(what_an_answer_shows_is_bounded_by_the_environment),
		cmocka_unit_test(a_package_is_known_by_its_requirement),
		cmocka_unit_test(what_is_so_anyway_is_accepted),
		cmocka_unit_test(what_engines_can_is_taken_with_one),
		cmocka_unit_test(limits_of_runtime_configs_are_the_servers),
		cmocka_unit_test(what_cannot_be_had_is_refused_by_its_name),
		cmocka_unit_test(short_output_is_whole),
		cmocka_unit_test(no_character_is_cut_in_two),
		cmocka_unit_test(bytes_that_are_no_text_become_text),
		cmocka_unit_test(bytes_without_end_are_bounded),
		cmocka_unit_test(every_path_has_a_uri_that_leads_back),
		cmocka_unit_test(a_uri_of_no_file_is_refused),
		cmocka_unit_test(a_file_is_known_by_its_bytes_and_then_by_its_name),
		cmocka_unit_test(a_character_that_is_cut_at_the_end_is_text_all_the_same),
		cmocka_unit_test(an_artifact_has_one_uri),
		cmocka_unit_test(only_whole_pictures_are_shown),
		cmocka_unit_test(a_type_is_one_of_two_words),
		cmocka_unit_test(the_last_artifacts_of_a_session_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
