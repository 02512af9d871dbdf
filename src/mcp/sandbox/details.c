/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/details.h"

#include "base/auto.h"
#include "base/error.h"
#include "mcp/sandbox/facts.h"

#include <llmsandbox/language.h>

#include <errno.h>
#include <string.h>
#include <strings.h>

json_t *mcp_language_ids(void)
{
	const struct sbx_language_info *info;
	json_t *ids = json_array();

	for (size_t i = 0; (info = sbx_language_at(i)) != NULL; i++)
		json_array_append_new(ids, json_string(info->id));
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

static void set_version(json_t *details, const char *language, const char *tool_chain)
{
	auto_free char *version = NULL;
	struct sbx_error err;

	if (sbx_language_version(language, &version, &err) < 0) {
		version = NULL;
		json_object_set_new(details, "problem", json_string(err.msg));
	}
	json_object_set_new(details, "version",
			    version ? json_sprintf("%s %s", tool_chain, version) : json_null());
}

static void set_libraries(json_t *details, struct mcp_sandbox *sandbox, const char *language)
{
	const json_t *libraries = NULL;
	struct sbx_error err;

	if (mcp_libraries_list(&sandbox->libraries, language, &libraries, &err) < 0) {
		json_object_set_new(details, "preinstalled_libraries", json_null());
		json_object_set_new(details, "problem", json_string(err.msg));
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
int mcp_language_details(struct mcp_sandbox *sandbox, const char *language, json_t **ret,
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
	set_version(details, info->id, facts->tool_chain);
	json_object_set_new(details, "package_manager", json_string(facts->package_manager));
	set_libraries(details, sandbox, info->id);
	json_object_set_new(details, "use_cases", texts(facts->use_cases));
	json_object_set_new(details, "visualization_support",
			    json_boolean(facts->visualization_support));
	json_object_set_new(details, "examples", examples(facts->examples));
	*ret = details;
	return 0;
}

int mcp_all_details(struct mcp_sandbox *sandbox, json_t **ret, struct sbx_error *err)
{
	const struct sbx_language_info *info;
	json_t *all = json_object(), *details;

	for (size_t i = 0; (info = sbx_language_at(i)) != NULL; i++) {
		if (mcp_language_details(sandbox, info->id, &details, err) < 0) {
			json_decref(all);
			return -(int)err->code;
		}
		json_object_set_new(all, info->id, details);
	}
	*ret = all;
	return 0;
}
