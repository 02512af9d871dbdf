/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/wishes.h"

#include "base/error.h"
#include "mcp/sandbox/clip.h"

/* What a client may ask for when the environment does not say. */
#define MEMORY_MOST    (4ull << 30)
#define CPU_MILLI_MOST 4000u

static int set_memory(struct sbx_spec *spec, const struct mcp_environment *e, const json_t *value,
		      struct sbx_error *err)
{
	uint64_t most = e->memory_bytes ? e->memory_bytes : MEMORY_MOST, wanted;

	if (!json_is_integer(value))
		return 0;
	wanted = (uint64_t)json_integer_value(value) << 20;
	if (wanted > most)
		return sbx_fail(err, SBX_E_LIMIT, "memory_mb: this server gives at most %llu",
				(unsigned long long)(most >> 20));
	return sbx_spec_set_limit(spec, SBX_LIMIT_MEMORY_BYTES, wanted, err);
}

static int set_cpus(struct sbx_spec *spec, const struct mcp_environment *e, const json_t *value,
		    struct sbx_error *err)
{
	uint64_t most = e->cpu_milli ? e->cpu_milli : CPU_MILLI_MOST, wanted;

	if (!json_is_number(value))
		return 0;
	wanted = (uint64_t)(json_number_value(value) * 1000 + 0.5);
	if (wanted > most)
		return sbx_fail(err, SBX_E_LIMIT, "cpus: this server gives at most %g",
				(double)most / 1000);
	return sbx_spec_set_limit(spec, SBX_LIMIT_CPU_MILLI, wanted, err);
}

static int set_network(struct sbx_spec *spec, const struct mcp_environment *e,
		       const json_t *arguments, struct sbx_error *err)
{
	struct sbx_network *network;
	int r = mcp_network_make(e, arguments, &network, err);

	if (r < 0)
		return r;
	r = sbx_spec_set_network(spec, network, err);
	sbx_network_free(network);
	return r;
}

static int set_wishes(struct sbx_spec *spec, const struct mcp_environment *e,
		      const json_t *arguments, struct sbx_error *err)
{
	int r = set_memory(spec, e, json_object_get(arguments, "memory_mb"), err);

	if (r == 0)
		r = set_cpus(spec, e, json_object_get(arguments, "cpus"), err);
	return r < 0 ? r : set_network(spec, e, arguments, err);
}

static int set_output(struct sbx_spec *spec, size_t max_output, struct sbx_error *err)
{
	int r = sbx_spec_set_limit(spec, SBX_LIMIT_HEAD_BYTES, mcp_clip_head_bytes(max_output),
				   err);

	if (r < 0)
		return r;
	return sbx_spec_set_limit(spec, SBX_LIMIT_TAIL_BYTES, mcp_clip_tail_bytes(max_output), err);
}

int mcp_make_spec(const struct mcp_environment *e, const json_t *arguments, const char *language,
		  size_t max_output, struct sbx_spec **ret, struct sbx_error *err)
{
	struct sbx_spec *spec;
	int r = mcp_environment_make_spec(e, &spec, err);

	if (r < 0)
		return r;
	r = set_wishes(spec, e, arguments, err);
	if (r == 0)
		r = set_output(spec, max_output, err);
	if (r == 0)
		r = sbx_spec_set_language(spec, language, err);
	sbx_spec_use_support(spec, e->artifacts);
	if (r < 0) {
		sbx_spec_free(spec);
		return r;
	}
	*ret = spec;
	return 0;
}

int mcp_refuse_wishes(const json_t *arguments, struct sbx_error *err)
{
	static const char *const names[] = {"memory_mb", "cpus", "network", "allow"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const json_t *value = json_object_get(arguments, names[i]);

		if (value != NULL && !json_is_null(value))
			return sbx_fail(
				err, SBX_E_INVALID,
				"%s cannot be changed in a session: give it to create_session, or "
				"leave session_id out",
				names[i]);
	}
	return 0;
}
