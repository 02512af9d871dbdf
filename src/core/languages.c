/* SPDX-License-Identifier: MIT */
/* Which tool chains sandboxes of a spec find. */
#include <llmsandbox/language.h>

#include "backend/backend.h"
#include "base/auto.h"
#include "core/container.h"
#include "core/image_store.h"
#include "core/language_memo.h"
#include "core/session.h"
#include "core/toolchain.h"
#include "lang/lang.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define LANGUAGES_MAX 32
#define KEY_MAX	      512

struct finding {
	struct sbx_spec spec; /* a copy, that differs from the caller's; what it points to is the caller's */
	struct sbx_tool_chain *list; /* of LANGUAGES_MAX */
	size_t count;
};

/* ---- the list ---- */

/* A version, or why there is none. */
static int add(struct finding *f, const struct sbx_lang *lang, const char *image,
	       const char *version, const struct sbx_error *why, struct sbx_error *err)
{
	struct sbx_tool_chain *t = &f->list[f->count++];

	*t = (struct sbx_tool_chain){
		.info = &lang->info,
		.version = version ? strdup(version) : NULL,
		.image = image ? strdup(image) : NULL,
		.problem = version ? NULL : strdup(why->msg),
		.code = version ? SBX_OK : why->code,
	};
	if ((image && !t->image) || (!t->version && !t->problem))
		return sbx_fail_errno(err, ENOMEM, "cannot list the languages");
	return 0;
}

void sbx_tool_chains_free(struct sbx_tool_chain *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(list[i].version);
		free(list[i].problem);
		free(list[i].image);
	}
	free(list);
}

static int add_of_machine(struct finding *f, const struct sbx_lang *lang, struct sbx_error *err)
{
	auto_free char *version = NULL;
	struct sbx_error why;

	if (sbx_language_version(lang->info.id, &version, &why) < 0)
		version = NULL;
	return add(f, lang, NULL, version, &why, err);
}

/* ---- asking in a sandbox ---- */

/* 0 when it is there, whatever it says of itself. */
static int find_tool(struct sbx_session *s, const char *name, struct sbx_error *err)
{
	const struct sbx_command command = {.argv = SBX_ARGV(name, "--version")};
	struct sbx_result *result = NULL;
	int r = sbx_session_exec(s, &command, &result, err);

	sbx_result_free(result);
	return r;
}

static int ask(struct sbx_session *s, const struct sbx_lang *lang, char ret[SBX_VERSION_MAX],
	       struct sbx_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && lang->tools[i] != NULL; i++) {
		if (strcmp(lang->tools[i], lang->version[0]) != 0)
			r = find_tool(s, lang->tools[i], err);
	}
	return r < 0 ? r : sbx_toolchain_ask_in(s, lang, ret, err);
}

/* What one language's tools do is no matter to the others, unless it ends the sandbox. */
static int ask_all(struct sbx_session *s, json_t *versions, json_t *problems, struct sbx_error *err)
{
	const struct sbx_lang *lang;
	int r = 0;

	for (size_t i = 0; r == 0 && i < LANGUAGES_MAX && (lang = sbx_lang_at(i)) != NULL; i++) {
		char version[SBX_VERSION_MAX];

		r = ask(s, lang, version, err);
		if (r == 0)
			json_object_set_new(versions, lang->info.id, json_string(version));
		else if (err->code != SBX_E_NOT_FOUND)
			/* A tool may have said it in what is no text, and it is a problem all the same. */
			json_object_set_new(problems, lang->info.id, json_string_nocheck(err->msg));
		if (r < 0)
			r = sbx_session_check(s, err);
	}
	return r;
}

/* ---- what is known ---- */

/* What is found depends on nothing but this; false: it does on more. */
static bool make_key(const struct sbx_spec *spec, const char *id, char ret[KEY_MAX])
{
	const char *environment = spec->container.environment;

	if (id == NULL || id[0] == '\0' || spec->env_count > 0 || spec->mount_count > 0 ||
	    spec->container.id != NULL)
		return false;
	return snprintf(ret, KEY_MAX, "%s%s%s", id, environment ? " " : "",
			environment ? environment : "") < KEY_MAX;
}

/* Of the image that is named, before anything is opened. */
static json_t *recall_named(const struct sbx_spec *spec)
{
	const struct sbx_backend_images *images = sbx_backend_images(spec->backend);
	const char *image = spec->container.image;
	char id[KEY_MAX / 2] = "", key[KEY_MAX];
	struct sbx_error ignored;

	if (image == NULL || spec->container.pull == SBX_PULL_ALWAYS)
		return NULL;
	if (images != NULL && images->find != NULL)
		images->find(image, id, &ignored);
	else
		sbx_image_find_id(image, id, sizeof(id));
	return make_key(spec, id, key) ? sbx_language_memo_recall(key) : NULL;
}

static bool make_session_key(const struct sbx_session *s, char ret[KEY_MAX])
{
	const char *id = sbx_place_image_id(s->place);
	char named[KEY_MAX / 2];

	if (id == NULL && s->spec->container.image != NULL &&
	    sbx_image_find_id(s->spec->container.image, named, sizeof(named)))
		id = named;
	return make_key(s->spec, id, ret);
}

/* ---- one image ---- */

static int ask_session(struct sbx_session *s, json_t **ret, json_t *problems, struct sbx_error *err)
{
	char key[KEY_MAX] = "";
	bool has_key = make_session_key(s, key);
	json_t *versions = has_key ? sbx_language_memo_recall(key) : NULL;
	int r = 0;

	if (versions == NULL) {
		versions = json_object();
		r = ask_all(s, versions, problems, err);
		if (r == 0 && has_key && json_object_size(problems) == 0)
			sbx_language_memo_keep(key, versions);
	}
	if (r == 0)
		*ret = versions;
	else
		json_decref(versions);
	return r;
}

/* name is what people call it: known here, or by the session that had to be opened. */
static int look(const struct sbx_spec *spec, json_t **ret_versions, char **ret_name,
		json_t *problems, struct sbx_error *err)
{
	struct sbx_session *s = NULL;
	const char *name = spec->container.image;
	int r = 0;

	*ret_versions = recall_named(spec);
	if (*ret_versions == NULL)
		r = sbx_session_open(spec, &s, err);
	if (r == 0 && s != NULL) {
		name = sbx_place_image_name(s->place) ?: name;
		r = ask_session(s, ret_versions, problems, err);
	}
	*ret_name = r == 0 ? strdup(name ? name : "") : NULL;
	sbx_session_close(s);
	return r;
}

static int add_of_image(struct finding *f, const struct sbx_lang *lang, const json_t *versions,
			const json_t *problems, const char *name, struct sbx_error *err)
{
	const char *version = json_string_value(json_object_get(versions, lang->info.id));
	const char *problem = json_string_value(json_object_get(problems, lang->info.id));
	struct sbx_error why;

	if (problem != NULL)
		sbx_fail(&why, SBX_E_UNAVAILABLE, "%s", problem);
	else
		sbx_explain_lacking_image(&f->spec, name, lang, &why);
	return add(f, lang, name, version, &why, err);
}

static int find_in_image(struct finding *f, const struct sbx_lang *only, struct sbx_error *err)
{
	json_t *versions = NULL, *problems = json_object();
	const struct sbx_lang *lang;
	auto_free char *name = NULL;
	int r = look(&f->spec, &versions, &name, problems, err);

	for (size_t i = 0; r == 0 && f->count < LANGUAGES_MAX && (lang = sbx_lang_at(i)) != NULL; i++) {
		if (only == NULL || only == lang)
			r = add_of_image(f, lang, versions, problems, name, err);
	}
	json_decref(versions);
	json_decref(problems);
	return r;
}

/* ---- an image a language ---- */

/* The first of its images that the engine has; else *ret_name is the one that would be pulled. */
static bool find_choice(const struct sbx_spec *spec, char **ret_name, struct sbx_error *err)
{
	const struct sbx_backend_images *images = sbx_backend_images(spec->backend);
	struct sbx_spec copy = *spec;
	char id[SBX_IMAGE_ID_MAX];
	struct sbx_error ignored;
	bool found = false;

	*ret_name = NULL;
	if (sbx_container_choose(&copy, err) < 0)
		return false;
	for (int i = 0; i < 2 && !found && copy.container.choices[i] != NULL; i++) {
		free(*ret_name);
		*ret_name = strdup(copy.container.choices[i]);
		found = *ret_name != NULL && images != NULL && images->find(*ret_name, id, &ignored) == 0;
	}
	sbx_container_free_choices(&copy);
	if (*ret_name == NULL)
		sbx_fail_errno(err, ENOMEM, "cannot name an image");
	return found;
}

static int find_in_own_image(struct finding *f, const struct sbx_lang *lang, struct sbx_error *err)
{
	auto_free char *name = NULL;
	struct sbx_error why;
	int r;

	f->spec.language = lang->info.id;
	if (!find_choice(&f->spec, &name, err)) {
		if (name == NULL)
			return -(int)err->code;
		sbx_fail(&why, SBX_E_UNAVAILABLE, "'%.300s' is pulled when %s is first run", name,
			 lang->info.title);
		return add(f, lang, name, NULL, &why, err);
	}
	f->spec.container.image = name;
	r = find_in_image(f, lang, err);
	f->spec.container.image = NULL;
	return r;
}

static int find(struct finding *f, const struct sbx_lang *only, struct sbx_error *err)
{
	const struct sbx_container *c = &f->spec.container;
	bool engine = sbx_backend_has_own_tools(f->spec.backend);
	const struct sbx_lang *lang;
	int r = sbx_container_check(&f->spec, err);

	if (r < 0 || c->image != NULL || c->id != NULL || c->dockerfile != NULL)
		return r < 0 ? r : find_in_image(f, only, err);
	for (size_t i = 0; r == 0 && f->count < LANGUAGES_MAX && (lang = sbx_lang_at(i)) != NULL; i++) {
		if (only != NULL && only != lang)
			continue;
		r = engine ? find_in_own_image(f, lang, err) : add_of_machine(f, lang, err);
	}
	return r;
}

/* Nothing of the asking stays, and it reaches nothing. */
static void make_copy(struct sbx_spec *copy, const struct sbx_spec *spec)
{
	*copy = *spec;
	copy->container.commit = false;
	copy->network = NULL;
	copy->language = "none";
	copy->no_libraries = true;
	copy->use_support = false;
}

int sbx_spec_find_languages(const struct sbx_spec *spec, const char *language,
			    struct sbx_tool_chain **ret, size_t *ret_count, struct sbx_error *err)
{
	const struct sbx_lang *only = language ? sbx_lang_find(language) : NULL;
	struct finding f = {.list = calloc(LANGUAGES_MAX, sizeof(*f.list))};
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	make_copy(&f.spec, spec);
	if (f.list == NULL)
		r = sbx_fail_errno(err, ENOMEM, "cannot list the languages");
	else if (language != NULL && only == NULL)
		r = sbx_fail(err, SBX_E_NOT_FOUND, "there is no language '%.64s'", language);
	else
		r = find(&f, only, err);
	if (r < 0) {
		sbx_tool_chains_free(f.list, f.count);
		return r;
	}
	*ret = f.list;
	*ret_count = f.count;
	return 0;
}
