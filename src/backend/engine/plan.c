/* SPDX-License-Identifier: MIT */
/* What opening a spec would ask of an engine, in words; none is asked. */
#include "backend/engine/container.h"

#include "backend/engine/image.h"

#include <errno.h>
#include <stdlib.h>

static void print_image(const struct sbx_spec *spec, struct sbx_buf *out)
{
	static const char *const policies[] = {
		[SBX_PULL_MISSING] = "pull it when it is missing",
		[SBX_PULL_ALWAYS] = "pull it",
		[SBX_PULL_NEVER] = "fail when it is missing",
	};
	const struct sbx_container *c = &spec->container;

	if (c->dockerfile != NULL)
		sbx_buf_printf(out, "POST /build: %s\n", c->dockerfile);
	else if (c->image == NULL && c->choices[1] != NULL)
		sbx_buf_printf(out, "GET /images/%s/json; when it is missing: %s, %s\n", c->choices[0],
			       c->choices[1], policies[c->pull]);
	else
		sbx_buf_printf(out, "GET /images/%s/json; %s\n", engine_image_name(spec),
			       policies[c->pull]);
}

static void print_end(const struct sbx_spec *spec, struct sbx_buf *out)
{
	const struct sbx_container *c = &spec->container;

	if (c->commit)
		sbx_buf_printf(out, "at the end: commit to %s\n", c->commit_tag ? c->commit_tag : "a fresh tag");
	if (c->dockerfile != NULL && !c->keep_template)
		sbx_buf_puts(out, "at the end: remove the image\n");
}

static int print_container(const struct sbx_spec *spec, const struct engine_flavor *flavor,
			   struct sbx_buf *out, struct sbx_error *err)
{
	struct sbx_spec shown = *spec;
	json_t *o;
	char *text;
	bool ours;

	shown.container.sets = spec->no_libraries ? NULL : "llm-sandbox-libraries-(the image)";
	o = engine_container_describe(flavor, &shown, engine_image_name(spec), err);
	if (o == NULL)
		return -(int)err->code;
	text = json_dumps(o, JSON_INDENT(2));
	ours = !engine_seccomp_is_wished(o);
	json_decref(o);
	if (text == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot print the plan");
	print_image(spec, out);
	if (shown.container.sets != NULL)
		sbx_buf_printf(out, "POST /volumes/create: %s\n", shown.container.sets);
	sbx_buf_printf(out, "POST /containers/create%s\n%s\nattach, start\n",
		       ours ? ", with our seccomp profile in SecurityOpt" : "", text);
	free(text);
	print_end(spec, out);
	return 0;
}

int engine_print_plan(const struct sbx_spec *spec, const struct engine_flavor *flavor,
		      struct sbx_buf *out, struct sbx_error *err)
{
	if (spec->container.id == NULL)
		return print_container(spec, flavor, out, err);
	sbx_buf_printf(out,
		       "GET /containers/%s/json; start it when it is stopped\n"
		       "PUT the agent into its root\nexec the agent, which removes itself, as 0:0\n",
		       spec->container.id);
	return 0;
}
