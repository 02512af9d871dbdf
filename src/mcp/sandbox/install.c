/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/install.h"

#include "base/auto.h"
#include "base/error.h"
#include "mcp/sandbox/reply.h"

#include <llmsandbox/library.h>

#include <errno.h>
#include <string.h>

#define PACKAGES_MAX 500 /* that are told */

void mcp_installed_done(struct mcp_installed *installed)
{
	json_decref(installed->versions);
	json_decref(installed->packages);
	*installed = (struct mcp_installed){0};
}

/* ---- what was installed ---- */

static void add_versions(const char *language, const json_t *wanted,
			 const struct sbx_library_set *set, json_t *versions)
{
	const json_t *item;
	size_t i;

	json_array_foreach(wanted, i, item)
	{
		const char *requirement = json_string_value(item), *version = "installed";

		for (size_t k = 0; k < set->package_count; k++) {
			const struct sbx_package *p = &set->packages[k];

			if (mcp_library_is_of(language, requirement, p->name))
				version = p->version;
		}
		mcp_set(versions, requirement, json_string(version));
	}
}

static json_t *list_packages(const struct sbx_library_set *set)
{
	json_t *list = json_array();

	for (size_t i = 0; i < set->package_count && i < PACKAGES_MAX; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "name", set->packages[i].name,
						      "version", set->packages[i].version));
	return list;
}

/* ---- installing ---- */

static void tell(const char *text, size_t len, void *watch)
{
	mcp_watch_tell(watch, text, len);
}

static int run_installer(struct mcp_call *call, struct sbx_session *session, const char *language,
			 const json_t *missing, struct mcp_watch *watch,
			 struct sbx_library_set **ret, struct sbx_error *err)
{
	const struct mcp_sandbox *sandbox = mcp_call_userdata(call);
	auto_free const char **requirements =
		calloc(json_array_size(missing) + 1, sizeof(*requirements));
	struct sbx_install how = {
		.language = language,
		.requirements = requirements,
		.offline = sandbox->environment.install == MCP_INSTALL_OFFLINE,
		.on_progress = tell,
		.userdata = watch,
		.cancel = mcp_call_cancel(call),
	};
	const json_t *item;
	size_t i;

	if (requirements == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep the names of libraries");
	json_array_foreach(missing, i, item) requirements[i] = json_string_value(item);
	return sbx_session_install(session, &how, ret, err);
}

static int install(struct mcp_call *call, struct sbx_session *session, const char *language,
		   const json_t *missing, struct mcp_watch *watch, struct mcp_installed *ret,
		   struct sbx_error *err)
{
	struct mcp_sandbox *sandbox = mcp_call_userdata(call);
	struct sbx_library_set *set = NULL;
	int r;

	if (sandbox->environment.install == MCP_INSTALL_OFF)
		return mcp_libraries_refuse(&sandbox->libraries, call, language, missing, err);
	r = run_installer(call, session, language, missing, watch, &set, err);
	if (r < 0)
		return r;
	add_versions(language, missing, set, ret->versions);
	ret->packages = list_packages(set);
	sbx_library_set_free(set);
	return 0;
}

int mcp_install_libraries(struct mcp_call *call, struct sbx_session *session, const char *language,
			  const json_t *wanted, struct mcp_watch *watch, struct mcp_installed *ret,
			  struct sbx_error *err)
{
	struct mcp_sandbox *sandbox = mcp_call_userdata(call);
	struct mcp_installed installed = {0};
	json_t *missing = NULL;
	int r;

	*ret = installed;
	if (json_array_size(wanted) == 0)
		return 0;
	r = mcp_libraries_split(&sandbox->libraries, call, language, wanted, &installed.versions,
				&missing, err);
	if (r == 0 && json_array_size(missing) > 0)
		r = install(call, session, language, missing, watch, &installed, err);
	json_decref(missing);
	if (r < 0)
		mcp_installed_done(&installed);
	*ret = installed;
	return r;
}
