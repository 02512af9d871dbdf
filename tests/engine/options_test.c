/* SPDX-License-Identifier: MIT */
/* What is asked of an engine for which options, as rows; no engine is needed. */
#include "backend/backend.h"
#include "backend/engine/container.h"
#include "backend/engine/ignore.h"
#include "backend/engine/runtime.h"
#include "backend/image_env.h"
#include "base/io.h"
#include "base/strv.h"

#include <llmsandbox/container.h>
#include <llmsandbox/session.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct sbx_spec *new_spec(const char *backend)
{
	struct sbx_spec *spec;

	assert_int_equal(sbx_spec_new(&spec, NULL), 0);
	assert_int_equal(sbx_spec_set_backend(spec, backend, NULL), 0);
	return spec;
}

/* ---- runtime_configs ---- */

struct row {
	const char *configs, *path, *value; /* path: of what value stands at in the description */
};

static const struct row mapped[] = {
	{"{}", "HostConfig.NetworkMode", "\"none\""},
	{"{}", "HostConfig.CapDrop", "[\"ALL\"]"},
	{"{}", "HostConfig.SecurityOpt", "[\"no-new-privileges\"]"},
	{"{}", "HostConfig.ReadonlyRootfs", "true"},
	{"{}", "HostConfig.Memory", "1073741824"},
	{"{}", "HostConfig.AutoRemove", "true"},
	{"{'mem_limit': '256m'}", "HostConfig.Memory", "268435456"},
	{"{'mem_limit': '256m'}", "HostConfig.MemorySwap", "268435456"},
	{"{'mem_limit': '1.5GB'}", "HostConfig.Memory", "1610612736"},
	{"{'mem_limit': 67108864}", "HostConfig.Memory", "67108864"},
	{"{'mem_limit': -1}", "HostConfig.Memory", NULL},
	{"{'mem_limit': '64m', 'memswap_limit': '128m'}", "HostConfig.MemorySwap", "134217728"},
	{"{'cpu_quota': 50000}", "HostConfig.NanoCpus", "500000000"},
	{"{'cpu_quota': 50000, 'cpu_period': 200000}", "HostConfig.NanoCpus", "250000000"},
	{"{'cpu_count': 2}", "HostConfig.NanoCpus", "2000000000"},
	{"{'cpu_count': 2, 'cpu_quota': 50000}", "HostConfig.NanoCpus", "500000000"},
	{"{'nano_cpus': 1500000000}", "HostConfig.NanoCpus", "1500000000"},
	{"{'cpus': 0.5}", "HostConfig.NanoCpus", "500000000"},
	{"{'cpu_quota': -1}", "HostConfig.NanoCpus", NULL},
	{"{'cpuset_cpus': '0,1'}", "HostConfig.CpusetCpus", "\"0,1\""},
	{"{'pids_limit': 64}", "HostConfig.PidsLimit", "65"},
	{"{'pids_limit': -1}", "HostConfig.PidsLimit", NULL},
	{"{'network_mode': 'bridge'}", "HostConfig.NetworkMode", "\"bridge\""},
	{"{'network': 'mine'}", "HostConfig.NetworkMode", "\"mine\""},
	{"{}", "HostConfig.Dns", "[\"127.0.0.1\"]"},
	{"{'network_mode': 'none'}", "HostConfig.Dns", "[\"127.0.0.1\"]"},
	{"{'network': 'mine'}", "HostConfig.Dns", NULL},
	{"{'network_mode': 'bridge'}", "HostConfig.DnsSearch", NULL},
	{"{'read_only': false}", "HostConfig.ReadonlyRootfs", "false"},
	{"{'privileged': true}", "HostConfig.Privileged", "true"},
	{"{'cap_add': ['NET_ADMIN']}", "HostConfig.CapAdd",
	 "[\"SETUID\",\"SETGID\",\"SETPCAP\",\"KILL\",\"CHOWN\",\"NET_ADMIN\"]"},
	{"{'cap_drop': ['NET_RAW']}", "HostConfig.CapDrop", "[\"ALL\"]"},
	{"{'cap_drop': []}", "HostConfig.CapDrop", "[]"},
	{"{'security_opt': ['no-new-privileges:false']}", "HostConfig.SecurityOpt", "[]"},
	{"{'security_opt': ['seccomp=unconfined']}", "HostConfig.SecurityOpt",
	 "[\"no-new-privileges\",\"seccomp=unconfined\"]"},
	{"{'volumes': {'/data': {'bind': '/mnt', 'mode': 'ro'}}}", "HostConfig.Binds.1",
	 "\"/data:/mnt:ro\""},
	{"{'volumes': ['named:/mnt']}", "HostConfig.Binds.1", "\"named:/mnt\""},
	{"{'volumes': ['work:/sandbox']}", "HostConfig.Tmpfs./sandbox", NULL},
	{"{'mounts': [{'type': 'volume', 'source': 'v', 'target': '/mnt', 'read_only': true}]}",
	 "HostConfig.Mounts.0.ReadOnly", "true"},
	{"{'mounts': [{'Type': 'tmpfs', 'Target': '/mnt'}]}", "HostConfig.Mounts.0.Target", "\"/mnt\""},
	{"{'mounts': [{'source': 'v', 'target': '/mnt', 'no_copy': true, 'labels': {'a': 'b'}}]}",
	 "HostConfig.Mounts.0", "{\"Source\":\"v\",\"Target\":\"/mnt\",\"Type\":\"volume\","
	 "\"VolumeOptions\":{\"Labels\":{\"a\":\"b\"},\"NoCopy\":true}}"},
	{"{'mounts': [{'type': 'tmpfs', 'target': '/mnt', 'tmpfs_size': '2m', 'tmpfs_mode': 448}]}",
	 "HostConfig.Mounts.0.TmpfsOptions", "{\"Mode\":448,\"SizeBytes\":2097152}"},
	{"{'mounts': [{'type': 'bind', 'source': '/d', 'target': '/mnt', 'propagation': 'rslave'}]}",
	 "HostConfig.Mounts.0.BindOptions", "{\"Propagation\":\"rslave\"}"},
	{"{'mounts': [{'Type': 'bind', 'Source': '/d', 'Target': '/mnt', 'BindOptions': "
	 "{'NonRecursive': true}, 'propagation': 'rslave'}]}",
	 "HostConfig.Mounts.0.BindOptions.NonRecursive", "true"},
	{"{'volumes': {'/data': {'bind': '/mnt', 'ro': true, 'propagation': 'rslave'}}}",
	 "HostConfig.Binds.1", "\"/data:/mnt:ro,rslave\""},
	{"{'volumes': {'/data': {'bind': '/mnt', 'ro': false}}}", "HostConfig.Binds.1",
	 "\"/data:/mnt:rw\""},
	{"{'tmpfs': {'/run': 'size=1m'}}", "HostConfig.Tmpfs./run", "\"size=1m\""},
	{"{'tmpfs': ['/run']}", "HostConfig.Tmpfs./run", "\"\""},
	{"{'devices': ['/dev/fuse:/dev/f:r']}", "HostConfig.Devices.0.PathInContainer", "\"/dev/f\""},
	{"{'network_mode': 'bridge', 'ports': {'80/tcp': 8080}}",
	 "HostConfig.PortBindings.80/tcp.0.HostPort", "\"8080\""},
	{"{'network_mode': 'bridge', 'ports': {'80': ['127.0.0.1', 8080]}}",
	 "HostConfig.PortBindings.80/tcp.0.HostIp", "\"127.0.0.1\""},
	{"{'network_mode': 'bridge', 'ports': {'80': ['127.0.0.1']}}",
	 "HostConfig.PortBindings.80/tcp", "[{\"HostIp\":\"127.0.0.1\",\"HostPort\":\"\"}]"},
	{"{'network_mode': 'bridge', 'ports': {'80/udp': [1234, 4567]}}",
	 "HostConfig.PortBindings.80/udp.1.HostPort", "\"4567\""},
	{"{'network_mode': 'bridge', 'ports': {'80/tcp': null}}", "ExposedPorts.80/tcp", "{}"},
	{"{'extra_hosts': {'a': '10.0.0.1'}}", "HostConfig.ExtraHosts", "[\"a:10.0.0.1\"]"},
	{"{'dns': ['10.0.0.53']}", "HostConfig.Dns", "[\"10.0.0.53\"]"},
	{"{'labels': {'a': 'b'}}", "Labels.a", "\"b\""},
	{"{'labels': ['a=b']}", "Labels.llm-sandbox", "\"session\""},
	{"{'runtime': 'runsc'}", "HostConfig.Runtime", "\"runsc\""},
	{"{'gpus': 'all'}", "HostConfig.DeviceRequests.0.Count", "-1"},
	{"{'device_requests': [{'count': 1, 'capabilities': [['gpu']]}]}",
	 "HostConfig.DeviceRequests.0.Count", "1"},
	{"{'device_requests': [{'driver': 'cdi', 'device_ids': ['a']}]}",
	 "HostConfig.DeviceRequests.0.DeviceIds", "[\"a\"]"},
	{"{'shm_size': '1m'}", "HostConfig.ShmSize", "1048576"},
	{"{'ulimits': [{'name': 'nofile', 'soft': 99, 'hard': 99}]}", "HostConfig.Ulimits.1.Soft", "99"},
	{"{'hostname': 'box'}", "Hostname", "\"box\""},
	{"{'ipc_mode': 'host'}", "HostConfig.IpcMode", "\"host\""},
	{"{'ipc_mode': 'host'}", "HostConfig.ShmSize", NULL},
	{"{'ipc_mode': 'private', 'shm_size': 65536}", "HostConfig.ShmSize", "65536"},
	{"{'pid_mode': 'host'}", "HostConfig.PidMode", "\"host\""},
	{"{'userns_mode': 'host'}", "HostConfig.UsernsMode", "\"host\""},
	{"{'sysctls': {'net.core.somaxconn': 99}}", "HostConfig.Sysctls.net.core.somaxconn", "\"99\""},
	{"{'log_config': {'type': 'json-file'}}", "HostConfig.LogConfig.Type", "\"json-file\""},
	{"{'restart_policy': {'Name': 'no'}}", "HostConfig.RestartPolicy", NULL},
	{"{'auto_remove': true, 'detach': true, 'stdin_open': true, 'tty': false, 'init': true}",
	 "Tty", NULL},
	{"{'working_dir': '/app'}", "Volumes./app", "{}"},
	{"{'working_dir': '/app'}", "HostConfig.Tmpfs./app", NULL},
	{"{'working_dir': '/app', 'volumes': ['mine:/app']}", "Volumes", NULL},
	{"{'working_dir': '/tmp/a'}", "Volumes", NULL},
	{"{'mem_limit': null, 'name': null}", "HostConfig.Memory", "1073741824"},
};

/* Objects' keys may have dots in them: the longest that fits is taken. */
static const json_t *at(const json_t *value, const char *path)
{
	if (path[0] == '\0' || value == NULL)
		return value;
	if (json_is_array(value))
		return at(json_array_get(value, (size_t)atoi(path)),
			  path + strcspn(path, ".") + (strchr(path, '.') != NULL));
	for (size_t len = strlen(path); len > 0; len--) {
		char key[128];

		if (path[len] != '\0' && path[len] != '.')
			continue;
		snprintf(key, sizeof(key), "%.*s", (int)len, path);
		if (json_object_get(value, key) != NULL)
			return at(json_object_get(value, key), path + len + (path[len] == '.'));
	}
	return NULL;
}

static char *quoted(const char *text)
{
	char *copy = strdup(text);

	for (char *c = copy; *c != '\0'; c++)
		*c = *c == '\'' ? '"' : *c;
	return copy;
}

static void check_mapped(const struct row *row)
{
	struct sbx_spec *spec = new_spec("docker");
	char *configs = quoted(row->configs), *text = NULL;
	struct sbx_error err = {0};
	const json_t *value;
	json_t *body;

	if (sbx_spec_set_runtime_configs(spec, configs, &err) < 0)
		fail_msg("%s: %s", row->configs, err.msg);
	body = engine_container_describe(&engine_docker, spec, "box", &err);
	if (body == NULL)
		fail_msg("%s: %s", row->configs, err.msg);
	value = at(body, row->path);
	text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	if ((text == NULL) != (row->value == NULL) || (text != NULL && strcmp(text, row->value) != 0))
		fail_msg("%s: %s is %s, and not %s", row->configs, row->path, text ? text : "not there",
			 row->value ? row->value : "not there");
	free(text);
	free(configs);
	json_decref(body);
	sbx_spec_free(spec);
}

static void each_name_is_mapped(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(mapped); i++)
		check_mapped(&mapped[i]);
}

/* What containers.run(), create_container() and HostConfig() of docker-py 7 take. */
static const char *const of_docker_py[] = {
	"auto_remove", "binds", "blkio_weight", "blkio_weight_device", "cap_add", "cap_drop",
	"cgroup_parent", "cgroupns", "command", "cpu_count", "cpu_percent", "cpu_period",
	"cpu_quota", "cpu_rt_period", "cpu_rt_runtime", "cpu_shares", "cpuset_cpus",
	"cpuset_mems", "detach", "device_cgroup_rules", "device_read_bps", "device_read_iops",
	"device_requests", "device_write_bps", "device_write_iops", "devices", "dns", "dns_opt",
	"dns_search", "domainname", "entrypoint", "environment", "extra_hosts", "group_add",
	"healthcheck", "host_config", "hostname", "image", "init", "init_path", "ipc_mode",
	"isolation", "kernel_memory", "labels", "links", "log_config", "lxc_conf",
	"mac_address", "mem_limit", "mem_reservation", "mem_swappiness", "memswap_limit",
	"mounts", "name", "nano_cpus", "network", "network_disabled", "network_mode",
	"networking_config", "oom_kill_disable", "oom_score_adj", "pid_mode", "pids_limit",
	"platform", "port_bindings", "ports", "privileged", "publish_all_ports", "read_only",
	"remove", "restart_policy", "runtime", "security_opt", "shm_size", "stderr",
	"stdin_open", "stdout", "stop_signal", "stop_timeout", "storage_opt", "stream",
	"sysctls", "tmpfs", "tty", "ulimits", "use_config_proxy", "user", "userns_mode",
	"uts_mode", "version", "volume_driver", "volumes", "volumes_from", "working_dir",
};

static void every_name_of_docker_py_is_known(void **state)
{
	struct sbx_spec *spec = new_spec("docker");
	char configs[128];
	struct sbx_error err;

	(void)state;
	for (size_t i = 0; i < COUNT(of_docker_py); i++) {
		snprintf(configs, sizeof(configs), "{\"%s\": null}", of_docker_py[i]);
		if (sbx_spec_set_runtime_configs(spec, configs, &err) < 0)
			fail_msg("%s", err.msg);
	}
	sbx_spec_free(spec);
}

static void every_name_of_docker_py_is_in_the_documents(void **state)
{
	const char *source = getenv("SBX_SOURCE");
	char *text = NULL, path[4096], name[64];
	struct sbx_error err;
	size_t len;

	(void)state;
	snprintf(path, sizeof(path), "%s/docs/migration.md", source ? source : ".");
	if (sbx_read_file(AT_FDCWD, path, 1u << 20, &text, &len, &err) < 0)
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < COUNT(of_docker_py); i++) {
		snprintf(name, sizeof(name), "`%s`", of_docker_py[i]);
		if (strstr(text, name) == NULL)
			fail_msg("docs/migration.md does not have %s", name);
	}
	free(text);
}

static const char *const refused[][2] = {
	{"[]", "must be a JSON object"},
	{"{", "no JSON"},
	{"{'mem_limti': 1}", "did you mean 'mem_limit'?"},
	{"{'memory': '1g'}", "mem_limit"},
	{"{'timeout': 3}", "--timeout"},
	{"{'command': 'sh'}", "first process"},
	{"{'entrypoint': ['sh']}", "first process"},
	{"{'restart_policy': {'Name': 'always'}}", "not started again"},
	{"{'auto_remove': false}", "gone at its end"},
	{"{'tty': true}", "no terminal"},
	{"{'detach': false}", "as long as it lives"},
	{"{'group_add': ['video']}", "'user'"},
	{"{'mem_limit': 'much'}", "'mem_limit' must be a number of bytes"},
	{"{'mem_limit': '1k'}", "goes from"},
	{"{'cpu_period': 5}", "1000 to 1000000"},
	{"{'read_only': 'yes'}", "true or false"},
	{"{'privileged': 1}", "true or false"},
	{"{'cap_add': 'NET_ADMIN'}", "a list of names"},
	{"{'volumes': ['/data']}", "SOURCE:/PLACE:MODE"},
	{"{'volumes': {'/data': {'bind': '../x'}}}", "SOURCE:/PLACE:MODE"},
	{"{'ports': {'80/tcp': 8080}}", "network_mode"},
	{"{'labels': {'llm-sandbox.owner': 'me'}}", "llm-sandbox"},
	{"{'security_opt': ['nonsense']}", "no-new-privileges"},
	{"{'name': 'a b'}", "a name"},
	{"{'platform': 'linux?x=1'}", "a platform"},
	{"{'user': 'a:b'}", "a name alone"},
	{"{'environment': ['NOVALUE']}", "list of texts"},
	{"{'volumes': {'/data': {'bind': '/mnt', 'readonly': true}}}", "SOURCE:/PLACE:MODE"},
	{"{'volumes': {'/data': {'bind': '/mnt', 'ro': true, 'mode': 'rw'}}}", "SOURCE:/PLACE:MODE"},
	{"{'mounts': [{'type': 'tmpfs', 'target': '/mnt', 'size': '1m'}]}", "'mounts' has no 'size'"},
	{"{'mounts': [{'type': 'tmpfs', 'target': '/mnt', 'tmpfs_size': 'much'}]}", "a list of objects"},
	{"{'mounts': ['/a:/b']}", "a list of objects"},
	{"{'ulimits': [{'name': 'nofile', 'limit': 9}]}", "it has: Name Soft Hard"},
	{"{'log_config': {'type': 'json-file', 'opts': {}}}", "it has: Type Config"},
	{"{'device_read_bps': [{'Device': '/dev/a', 'Rate': 1}]}", "it has: Path Rate"},
	{"{'network': 'a', 'network_mode': 'b'}", "name one of them"},
	{"{'cpu_quota': 1000, 'nano_cpus': 5}", "name one of them"},
	{"{'volume_driver': 'x'}", "driver_config"},
	{"{'cpu_percent': 50}", "Windows"},
	{"{'healthcheck': {'test': ['true']}}", "nothing runs beside"},
	{"{'image': 'a'}", "--image"},
	{"{'init_path': '/sbin/init'}", "init already"},
	{"{'isolation': 'hyperv'}", "Windows"},
	{"{'kernel_memory': 1}", "mem_limit"},
	{"{'links': {'a': 'b'}}", "network_mode"},
	{"{'networking_config': {}}", "network_mode"},
	{"{'network_disabled': false}", "network_mode"},
	{"{'remove': false}", "gone at its end"},
	{"{'stdin_open': false}", "always attached"},
	{"{'stop_signal': 'SIGINT'}", "no signal asks"},
	{"{'stop_timeout': 3}", "ends at once"},
	{"{'use_config_proxy': true}", "own proxy"},
	{"{'version': '1.41'}", "negotiated"},
	{"{'binds': ['/a:/b']}", "called volumes"},
	{"{'port_bindings': {}}", "called ports"},
	{"{'host_config': {}}", "names of its own"},
};

static void what_cannot_be_had_is_refused_with_the_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(refused); i++) {
		struct sbx_spec *spec = new_spec("docker");
		uint64_t memory = sbx_spec_get_limit(spec, SBX_LIMIT_MEMORY_BYTES);
		char *configs = quoted(refused[i][0]);
		struct sbx_error err;

		if (sbx_spec_set_runtime_configs(spec, configs, &err) != -SBX_E_INVALID)
			fail_msg("%s is taken", refused[i][0]);
		if (strstr(err.msg, refused[i][1]) == NULL)
			fail_msg("%s: %s", refused[i][0], err.msg);
		assert_int_equal(sbx_spec_get_limit(spec, SBX_LIMIT_MEMORY_BYTES), memory);
		free(configs);
		sbx_spec_free(spec);
	}
}

static void what_podman_would_pass_over_is_refused_there(void **state)
{
	static const char *const wishes[] = {
		"{'runtime': 'runsc'}", "{'gpus': 'all'}", "{'cgroupns': 'private'}",
		"{'domainname': 'a.example'}", "{'device_cgroup_rules': ['c 1:3 r']}",
		"{'device_requests': [{'count': 1}]}", "{'publish_all_ports': true}",
		"{'mac_address': '02:42:ac:11:00:42'}"};

	(void)state;
	for (size_t i = 0; i < COUNT(wishes); i++) {
		struct sbx_spec *spec = new_spec("podman");
		char *configs = quoted(wishes[i]);
		struct sbx_error err = {0};
		json_t *body;

		assert_int_equal(sbx_spec_set_runtime_configs(spec, configs, &err), 0);
		body = engine_container_describe(&engine_docker, spec, "box", &err);
		assert_non_null(body);
		json_decref(body);
		assert_null(engine_container_describe(&engine_podman, spec, "box", &err));
		assert_int_equal(err.code, SBX_E_INVALID);
		assert_non_null(strstr(err.msg, "Podman does without it"));
		free(configs);
		sbx_spec_free(spec);
	}
}

/* A limit that is set later is one again. */
static void a_limit_takes_the_place_of_none(void **state)
{
	struct sbx_spec *spec = new_spec("docker");
	json_t *body;

	(void)state;
	assert_int_equal(sbx_spec_set_runtime_configs(spec, "{\"mem_limit\": -1}", NULL), 0);
	assert_int_equal(sbx_spec_set_limit(spec, SBX_LIMIT_MEMORY_BYTES, 64 << 20, NULL), 0);
	body = engine_container_describe(&engine_docker, spec, "box", NULL);
	assert_int_equal(json_integer_value(at(body, "HostConfig.Memory")), 64 << 20);
	json_decref(body);
	sbx_spec_free(spec);
}

static void a_second_object_adds_to_the_first(void **state)
{
	struct sbx_spec *spec = new_spec("docker");
	json_t *body;

	(void)state;
	assert_int_equal(sbx_spec_set_runtime_configs(spec, "{\"hostname\": \"a\", \"ipc_mode\": \"host\"}", NULL), 0);
	assert_int_equal(sbx_spec_set_runtime_configs(spec, "{\"hostname\": \"b\"}", NULL), 0);
	body = engine_container_describe(&engine_docker, spec, "box", NULL);
	assert_string_equal(json_string_value(at(body, "Hostname")), "b");
	assert_string_equal(json_string_value(at(body, "HostConfig.IpcMode")), "host");
	json_decref(body);
	sbx_spec_free(spec);
}

/* ---- what goes together ---- */

static void check_refusal(struct sbx_spec *spec, const char *words)
{
	struct sbx_session *session = NULL;
	struct sbx_error err;

	assert_int_equal(sbx_session_open(spec, &session, &err), -SBX_E_INVALID);
	if (strstr(err.msg, words) == NULL)
		fail_msg("%s", err.msg);
	sbx_spec_free(spec);
}

/* Case 95, with the next. */
static void an_image_and_a_containerfile_exclude_each_other(void **state)
{
	struct sbx_spec *spec = new_spec("docker");

	(void)state;
	assert_int_equal(sbx_spec_set_image(spec, "box", NULL), 0);
	assert_int_equal(sbx_spec_set_dockerfile(spec, "/etc/passwd", NULL, NULL), 0);
	check_refusal(spec, "must be one of them");
}

static void a_container_and_a_containerfile_exclude_each_other(void **state)
{
	struct sbx_spec *spec = new_spec("docker");

	(void)state;
	assert_int_equal(sbx_spec_set_container(spec, "abc", NULL), 0);
	assert_int_equal(sbx_spec_set_dockerfile(spec, "/etc/passwd", NULL, NULL), 0);
	check_refusal(spec, "needs no image");
}

/* Cases 85, 86 and 95 have no meaning without an engine. */
static void options_of_engines_are_refused_elsewhere(void **state)
{
	struct sbx_spec *spec = new_spec("native");

	(void)state;
	assert_int_equal(sbx_spec_set_container(spec, "abc", NULL), 0);
	check_refusal(spec, "docker or podman");
	spec = new_spec("native");
	assert_int_equal(sbx_spec_set_dockerfile(spec, "/etc/passwd", NULL, NULL), 0);
	check_refusal(spec, "docker or podman");
	spec = new_spec("native");
	assert_int_equal(sbx_spec_set_runtime_configs(spec, "{\"hostname\": \"a\"}", NULL), 0);
	check_refusal(spec, "docker or podman");
}

static void a_name_that_is_none_is_refused(void **state)
{
	static const char *const bad[] = {"", "-x", "a b", "a?b", "a\nb", "x/../y", "a&b=c"};
	struct sbx_spec *spec = new_spec("docker");

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(sbx_spec_set_image(spec, bad[i], NULL), -SBX_E_INVALID);
		assert_int_equal(sbx_spec_set_container(spec, bad[i], NULL), -SBX_E_INVALID);
		assert_int_equal(sbx_spec_set_commit(spec, true, bad[i], NULL), -SBX_E_INVALID);
	}
	assert_int_equal(sbx_spec_set_dockerfile(spec, "/nope/Containerfile", NULL, NULL), -SBX_E_NOT_FOUND);
	sbx_spec_free(spec);
}

/* ---- variables of an image ---- */

static const char *find(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; *env != NULL; env++) {
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	}
	return NULL;
}

static void environments_of_an_image_are_in_front_of_its_path(void **state)
{
	static const struct {
		const char *list, *environment, *path;
	} rows[] = {
		{"['PATH=/a:/b']", NULL, "/a:/b"},
		{"['PATH=/a', 'VIRTUAL_ENV=/venv']", NULL, "/venv/bin:/a"},
		{"['PATH=/a:/venv/bin', 'VIRTUAL_ENV=/venv']", NULL, "/a:/venv/bin"},
		{"['PATH=/a', 'MAMBA_ROOT_PREFIX=/m']", "base", "/m/bin:/a"},
		{"['PATH=/a']", "science", "/opt/conda/envs/science/bin:/a"},
		{"['nonsense', '=x']", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *text = quoted(rows[i].list);
		json_t *list = json_loads(text, 0, NULL);
		auto_strv char **env = NULL;
		struct sbx_error err;

		assert_int_equal(sbx_image_env_make(list, rows[i].environment, &env, &err), 0);
		if (rows[i].path != NULL)
			assert_string_equal(find(env, "PATH"), rows[i].path);
		else
			assert_null(find(env, "PATH"));
		json_decref(list);
		free(text);
	}
}

/* ---- what engines have no words for ---- */

static void a_mount_that_an_engine_cannot_be_told_of_is_refused(void **state)
{
	static const char *const names[] = {"a:b", "a\xff"};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		struct sbx_spec *spec = new_spec("docker");
		char folder[] = "/tmp/sbx-mount-XXXXXX", path[64];
		struct sbx_error err;

		assert_non_null(mkdtemp(folder));
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		assert_int_equal(mkdir(path, 0700), 0);
		assert_int_equal(sbx_spec_add_mount(spec, path, "/mnt", false, &err), 0);
		assert_null(engine_container_describe(&engine_docker, spec, "x", &err));
		assert_int_equal(err.code, SBX_E_INVALID);
		assert_non_null(strstr(err.msg, "mount"));
		rmdir(path);
		rmdir(folder);
		sbx_spec_free(spec);
	}
}

/* ---- .dockerignore ---- */

static void dockerignore_says_what_is_left_out(void **state)
{
	static const struct {
		const char *text, *path;
		bool out;
	} rows[] = {
		{"", "a", false},
		{"*.log", "a.log", true},
		{"*.log", "sub/a.log", false},
		{"**/*.log", "sub/a.log", true},
		{"**/*.log", "a.log", true},
		{"sub", "sub/deep/x", true},
		{"/sub/", "sub/x", true},
		{"./sub", "sub", true},
		{"# sub\n", "sub", false},
		{"  sub \r\n", "sub", true},
		{"sub/*\n!sub/keep", "sub/keep", false},
		{"sub/*\n!sub/keep", "sub/drop", true},
		{"!keep\n*", "keep", true},
		{"*\n!keep", "keep", false},
		{"a?c", "abc", true},
		{"a?c", "a/c", false},
		{"[ab]", "b", true},
		{"a/**/z", "a/z", true},
		{"a/**/z", "a/b/c/z", true},
		{"a/**", "a/b/c", true},
		{"**", "anything/at/all", true},
		{"**.key", "deep/down/my.key", true},
		{"**.key", "my.key", true},
		{"a/**/b/**/c", "a/b/x/b/c", true},
		{"a/**/b/**/c", "a/c/x/b", false},
		{"a//b/./c/", "a/b/c", true},
		{"a/x/../b", "a/b", true},
		{"\xef\xbb\xbf*.log", "a.log", true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct engine_ignore ignore;
		struct sbx_error err;

		assert_int_equal(engine_ignore_parse(rows[i].text, &ignore, &err), 0);
		if (engine_ignore_has(&ignore, rows[i].path) != rows[i].out)
			fail_msg("'%s' and '%s'", rows[i].text, rows[i].path);
		engine_ignore_done(&ignore);
	}
}

/* It may come from whoever wrote the folder. */
static void dockerignore_of_many_stars_is_read_at_once(void **state)
{
	char text[4096] = "", path[4096] = "";
	struct engine_ignore ignore;
	struct sbx_error err;

	(void)state;
	for (int i = 0; i < 100; i++) {
		strcat(text, "**/a/");
		strcat(path, "a/a/a/");
	}
	strcat(text, "b");
	assert_int_equal(engine_ignore_parse(text, &ignore, &err), 0);
	assert_false(engine_ignore_has(&ignore, path));
	engine_ignore_done(&ignore);
}

/* An image says what it likes. */
static void an_image_of_very_many_variables_is_refused(void **state)
{
	json_t *list = json_array();
	char **env = NULL;
	struct sbx_error err;

	(void)state;
	for (int i = 0; i < 200000; i++)
		json_array_append_new(list, json_sprintf("A%d=x", i));
	assert_int_equal(sbx_image_env_make(list, NULL, &env, &err), -SBX_E_LIMIT);
	assert_non_null(strstr(err.msg, "variables"));
	json_decref(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name_is_mapped),
		cmocka_unit_test(every_name_of_docker_py_is_known),
		cmocka_unit_test(every_name_of_docker_py_is_in_the_documents),
		cmocka_unit_test(what_cannot_be_had_is_refused_with_the_reason),
		cmocka_unit_test(what_podman_would_pass_over_is_refused_there),
		cmocka_unit_test(a_limit_takes_the_place_of_none),
		cmocka_unit_test(a_second_object_adds_to_the_first),
		cmocka_unit_test(an_image_and_a_containerfile_exclude_each_other),
		cmocka_unit_test(a_container_and_a_containerfile_exclude_each_other),
		cmocka_unit_test(options_of_engines_are_refused_elsewhere),
		cmocka_unit_test(a_name_that_is_none_is_refused),
		cmocka_unit_test(environments_of_an_image_are_in_front_of_its_path),
		cmocka_unit_test(a_mount_that_an_engine_cannot_be_told_of_is_refused),
		cmocka_unit_test(dockerignore_says_what_is_left_out),
		cmocka_unit_test(dockerignore_of_many_stars_is_read_at_once),
		cmocka_unit_test(an_image_of_very_many_variables_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
