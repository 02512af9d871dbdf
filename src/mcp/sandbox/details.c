/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/details.h"

#include "base/auto.h"
#include "base/error.h"
#include "mcp/sandbox/facts.h"

#include <llmsandbox/container.h>
#include <llmsandbox/language.h>

#include <errno.h>
#include <string.h>
#include <strings.h>

/* ---- what sandboxes of this server find ---- */

static int find_languages(struct mcp_call *call, const char *language, struct sbx_tool_chain **ret,
			  size_t *ret_count, struct sbx_error *err)
{
	const struct mcp_sandbox *sandbox = mcp_call_userdata(call);
	struct sbx_spec *spec = NULL;
	int r = mcp_environment_make_spec(&sandbox->environment, &spec, err);

	if (r == 0) {
		sbx_spec_set_cancel(spec, mcp_call_cancel(call));
		r = sbx_spec_find_languages(spec, language, ret, ret_count, err);
	}
	sbx_spec_free(spec);
	return r;
}

static json_t *all_ids(void)
{
	const struct sbx_language_info *info;
	json_t *ids = json_array();

	for (size_t i = 0; (info = sbx_language_at(i)) != NULL; i++)
		json_array_append_new(ids, json_string(info->id));
	return ids;
}

/* An image has what it has; where it cannot be asked, a run will say what is wrong. */
json_t *mcp_language_ids(struct mcp_call *call)
{
	const struct mcp_sandbox *sandbox = mcp_call_userdata(call);
	struct sbx_tool_chain *list = NULL;
	struct sbx_error ignored;
	size_t count = 0;
	json_t *ids;

	if (sandbox->environment.image[0] == '\0' ||
	    find_languages(call, NULL, &list, &count, &ignored) < 0)
		return all_ids();
	ids = json_array();
	for (size_t i = 0; i < count; i++) {
		if (list[i].version != NULL)
			json_array_append_new(ids, json_string(list[i].info->id));
	}
	sbx_tool_chains_free(list, count);
	return ids;
}

void mcp_complete_language(const char *prefix, json_t *values)
{
	const struct sbx_language_info *info;

	for (size_t i = 0; (info = sbx_language_at(i)) != NULL; i++) {
		if (strncasecmp(info->id, prefix, strlen(prefix)) == 0)
			json_array_append_new(values, json_string(info->id));
	}
}

/* A problem of the same name may be there already: the first one is the cause. */
static void set_problem(json_t *details, const char *text)
{
	if (json_object_get(details, "problem") == NULL)
		json_object_set_new(details, "problem", json_string(text));
}

static void set_version(json_t *details, struct mcp_call *call, const char *language,
			const char *tool_chain)
{
	struct sbx_tool_chain *list = NULL;
	struct sbx_error err;
	size_t count = 0;
	const char *version = NULL, *problem = NULL;

	if (find_languages(call, language, &list, &count, &err) < 0)
		problem = err.msg;
	else if (count > 0)
		version = list[0].version, problem = list[0].problem;
	json_object_set_new(details, "version",
			    version ? json_sprintf("%s %s", tool_chain, version) : json_null());
	if (problem != NULL)
		set_problem(details, problem);
	sbx_tool_chains_free(list, count);
}

static void set_libraries(json_t *details, struct mcp_call *call, const char *language)
{
	struct mcp_sandbox *sandbox = mcp_call_userdata(call);
	const json_t *libraries = NULL;
	struct sbx_error err;

	if (mcp_libraries_list(&sandbox->libraries, call, language, &libraries, &err) < 0) {
		json_object_set_new(details, "preinstalled_libraries", json_null());
		set_problem(details, err.msg);
		return;
	}
	json_object_set_new(details, "preinstalled_libraries", json_deep_copy(libraries));
}

static json_t *texts(const char *const *list)
{
	json_t *array = json_array();

	for (; *list != NULL; list++)
		json_array_append_new(array, json_string(*list));
	return array;
}

static json_t *examples(const struct mcp_example *example)
{
	json_t *array = json_array();

	for (; example->title != NULL; example++)
		json_array_append_new(array, json_pack("{s:s, s:s, s:s}", "title", example->title,
						       "description", example->description, "code",
						       example->code));
	return array;
}

/* The keys in the order of the original's. */
int mcp_language_details(struct mcp_call *call, const char *language, json_t **ret,
			 struct sbx_error *err)
{
	const struct sbx_language_info *info = sbx_language_find(language);
	const struct mcp_facts *facts = info ? mcp_facts_find(info->id) : NULL;
	json_t *details;

	if (facts == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND, "Unsupported language: %.200s", language);
	details = json_object();
	if (details == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot describe %s", info->id);
	set_version(details, call, info->id, facts->tool_chain);
	json_object_set_new(details, "package_manager", json_string(facts->package_manager));
	/* Nobody hears the answer, and the next question might begin where this one was given up. */
	if (mcp_call_is_cancelled(call)) {
		json_decref(details);
		return sbx_fail(err, SBX_E_UNAVAILABLE, "cancelled");
	}
	set_libraries(details, call, info->id);
	json_object_set_new(details, "use_cases", texts(facts->use_cases));
	json_object_set_new(details, "visualization_support",
			    json_boolean(facts->visualization_support));
	json_object_set_new(details, "examples", examples(facts->examples));
	*ret = details;
	return 0;
}

int mcp_all_details(struct mcp_call *call, json_t **ret, struct sbx_error *err)
{
	const struct sbx_language_info *info;
	json_t *all = json_object(), *details;

	for (size_t i = 0; (info = sbx_language_at(i)) != NULL; i++) {
		if (mcp_language_details(call, info->id, &details, err) < 0) {
			json_decref(all);
			return -(int)err->code;
		}
		json_object_set_new(all, info->id, details);
	}
	*ret = all;
	return 0;
}
