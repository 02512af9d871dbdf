/* SPDX-License-Identifier: MIT */
#include "cli/gallery.h"

#include "cli/listing.h"
#include "cli/picture.h"
#include "cli/trouble.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool gallery_is_possible(void)
{
	return isatty(STDOUT_FILENO);
}

static bool is_picture(const struct sbx_artifact *a)
{
	return strcmp(a->mime_type, "image/png") == 0 || strcmp(a->mime_type, "image/jpeg") == 0;
}

static void caption(const struct sbx_artifact *a)
{
	auto_free char *name = listing_tame(a->name);
	auto_free char *title = listing_tame(a->title);
	auto_free char *type = listing_tame(a->mime_type);

	dprintf(STDOUT_FILENO, "%s%s%s%s%s\n", name ? name : "?", title && title[0] ? "  " : "",
		title ? title : "", is_picture(a) ? "" : "  ",
		is_picture(a) ? ""
		: type	      ? type
			      : "?");
}

static int show_one(const struct screen *screen, const struct site *site,
		    const struct sbx_artifact *a, struct sbx_error *err)
{
	auto_free char *data = NULL;
	size_t len = 0;
	int r;

	r = site_read(site, a->path, PICTURE_BYTES_MAX, &data, &len, err);
	return r < 0 ? r : screen_show(screen, data, len, err);
}

static size_t count_pictures(const struct sbx_result *result)
{
	size_t count = 0;

	for (size_t i = 0; i < result->artifact_count; i++)
		count += is_picture(&result->artifacts[i]);
	return count;
}

/* Once: what to do instead. */
static void tell_why(struct gallery *g, bool are_saved)
{
	if (!g->told)
		cli_say("this terminal says that it has neither kitty's graphics, nor iTerm2's, "
			"nor "
			"sixels, so pictures are not shown%s",
			are_saved ? "; they are in the folder" : "; --artifacts FOLDER saves them");
	g->told = true;
}

static void look(struct gallery *g)
{
	if (!g->looked)
		screen_look(&g->screen);
	g->looked = true;
}

void gallery_show(struct gallery *g, const struct site *site, const struct sbx_result *result,
		  bool are_saved)
{
	struct sbx_error err;

	if (result->artifact_count == 0 || !gallery_is_possible())
		return;
	if (count_pictures(result) > 0)
		look(g);
	if (g->looked && g->screen.way == SCREEN_NONE)
		tell_why(g, are_saved);
	for (size_t i = 0; i < result->artifact_count; i++) {
		const struct sbx_artifact *a = &result->artifacts[i];

		bool can = g->screen.way != SCREEN_NONE && is_picture(a);

		if (can || !are_saved) /* those in the folder were listed */
			caption(a);
		if (can && show_one(&g->screen, site, a, &err) < 0)
			cli_say("'%s' is not shown: %s", a->name, err.msg);
	}
}
