/* SPDX-License-Identifier: MIT */
/*
 * Artifacts: what a run shows or makes, beside its output. A run that wants them (io.artifacts)
 * is watched from inside: each plot of matplotlib, seaborn, plotly, pandas, PIL, base R, ggplot2
 * or lattice comes as one, in the order it was made; and behind these each image, page, document,
 * table or sound that appeared in the work folder or in /sandbox/output. The bytes stay in the
 * sandbox until they are asked for: sbx_session_read_file() or sbx_session_get() with the path.
 *
 * All of it was made by the program: names and titles are cleaned, contents are not.
 */
#ifndef LLMSANDBOX_ARTIFACT_H
#define LLMSANDBOX_ARTIFACT_H

#include <llmsandbox/error.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sbx_session;

enum sbx_artifact_kind {
	SBX_ARTIFACT_PLOT,    /* a picture or page of a plotting library */
	SBX_ARTIFACT_DISPLAY, /* rich output of a kernel's cell: HTML, LaTeX, JSON … */
	SBX_ARTIFACT_FILE     /* a file that the program wrote by itself */
};

struct sbx_artifact {
	uint32_t number; /* in the session, from 1, never used twice; see sbx_session_clear_artifacts */
	enum sbx_artifact_kind kind;
	/*
	 * What to call it outside, unlike that of any other artifact of its result: one component
	 * of printable characters, such as "plot-000001.png", "display-000002.html", "report.pdf".
	 */
	char name[160];
	char mime_type[96]; /* found in its bytes where they tell: "image/png" */
	char source[32];    /* what made it: "matplotlib", "plotly", "ggplot2"; "" for a file */
	char title[256];    /* one line of UTF-8, or "" */
	uint32_t width, height; /* pixels, where it is a picture that tells; else 0 */
	uint64_t size;	    /* bytes */
	char *path;	    /* absolute, inside; owned by the result */
	char *chart; /* what the plot shows (kind, titles, axes, series) as JSON, or NULL; owned */
};

/* A regular file that is new or was written during a run. */
struct sbx_change {
	char *path; /* below the work folder, or absolute for one in /sandbox/output; owned */
	uint64_t size;
};

/* "plot", "display", "file"; never NULL. Any thread. */
SBX_API const char *sbx_artifact_kind_name(enum sbx_artifact_kind kind);

/* Remove the artifacts that the session keeps (not the program's own files); numbers begin at 1. */
SBX_API int sbx_session_clear_artifacts(struct sbx_session *session, struct sbx_error *err);

#ifdef __cplusplus
}
#endif

#endif
