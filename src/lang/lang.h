/* SPDX-License-Identifier: MIT */
/*
 * A language is one const row. Adding one touches its file, one line of table.c and a set of
 * test cases. Rows are data: nothing here starts a process or looks into a sandbox.
 *
 * argv templates hold placeholders and are never a shell line:
 *	{src}	the source file, absolute		{dir}	the folder it is in
 *	{build}	an empty writable folder for the compiler	{main}	from the inspect hook
 *	{memory_mb}, {cpus}	the sandbox's limits, whole numbers, at least 1
 *	{proxy_host}, {proxy_port}	the sandbox's proxy; empty and 0 where there is none
 *	{set}	the folder of the libraries that are used; where they are installed, while they are
 *	{support}	the folder of src/lang/support inside, of hooks and kernels alone
 * and where libraries are installed:
 *	{home}	the work folder, with the package manager's configuration in it
 *	{final}	where {set} will be seen by those who use it
 *	{requirements}, {words}	as a word of its own: one for each; as it is, or by the word hook
 */
#pragma once

#include <llmsandbox/language.h>

#include <stdbool.h>
#include <stddef.h>

/* What the inspect hook found in a source. */
struct sbx_lang_source {
	char file_name[256]; /* what the file must be called; "" = as the row says */
	char main[256];	     /* value of {main} */
};

/* A cache that makes the tool chain start warm: made once in a sandbox of its own, then
 * shown read-only at `inside` to every later one. */
struct sbx_lang_cache {
	const char *inside;		/* "/opt/llm-sandbox/go" */
	const char *const *fill;	/* argv that fills {build} from nothing, offline */
	const char *const *const *use;	/* list of argv, run before compile when it is there */
	const char *const *env;		/* of fill */
};

struct sbx_buf;

/* Something that an installer says it has installed. */
struct sbx_lang_package {
	char name[192], version[128], hash[160];
};

enum sbx_step_flags {
	SBX_STEP_ONLINE = 1,   /* reaches the package manager's hosts, and sees its configuration */
	SBX_STEP_LIST = 2,     /* prints what was installed, a line each, for the parse hook */
	SBX_STEP_MAY_FAIL = 4, /* whatever it comes to */
	SBX_STEP_TRY = 8,      /* when it succeeds, the steps with RETRY are left out, else done */
	SBX_STEP_RETRY = 16,
	SBX_STEP_HOSTS = 32, /* prints more addresses that the next steps may use, public ones */
};

/* One program that installs; cwd is {home}. */
struct sbx_lang_step {
	unsigned int flags;
	const char *const *argv;
};

/* A file that configures the package manager: it is copied in, for the online steps alone. */
struct sbx_lang_config {
	const char *from; /* "/etc/x", "~/x", or "$NAME": the file that this variable names */
	const char *to;	  /* relative to {home} */
	const char *env;  /* "NAME={home}/x" where the file is there; or NULL */
};

/*
 * How libraries come into the language. All that runs does so in a sandbox of its own; code of a
 * library, if any has to, in a step that is not ONLINE, which reaches nothing and finds neither
 * configuration nor credentials.
 */
struct sbx_lang_install {
	const char *manager;		/* "pip", as people know it */
	const char *tool;		/* a program that must be in PATH … */
	const char *package;		/* … and the Debian package that has it */
	const char *example;		/* "requests>=2" */
	/* Whether the ecosystem allows it: NULL, or what is wrong, as the end of a sentence. */
	const char *(*check)(const char *requirement);
	const char *const *shown;	/* folders of the host that the installer must see; or NULL */
	const struct sbx_lang_config *config; /* ends with a NULL from; or NULL */
	const char *const *variables;	/* passed on from our environment, where they are set */
	const char *const *ca_variables; /* the same; they name certificates, which are copied in */
	const char *const *hosts;	/* argv that prints the addresses it is set up to use */
	const char *hosts_mark;		/* only lines with this in them count; or NULL: all */
	bool subdomains;		/* what is below its hosts belongs to it too */
	const char *const *env;		/* of all steps */
	const struct sbx_lang_step *steps; /* ends with a NULL argv */
	const char *project;		/* a file to write into {home} first, by: */
	void (*write_project)(const char *const *requirements, struct sbx_buf *out);
	/* What {words} has of a requirement; or NULL: there is no {words} in the steps. */
	void (*word)(const char *requirement, struct sbx_buf *out);
	bool (*parse)(const char *line, struct sbx_lang_package *ret); /* a line of a LIST */
	const char *const *trouble;	/* beginnings of lines that tell why it failed; or NULL */
	/* For runs that use a set: */
	const char *const *use_env;
	const char *const *use_before;	/* argv to run first, whatever it comes to; or NULL */
	const char *const *use_compile; /* in place of compile; or NULL */
	const char *const *use_run;	/* in place of run; or NULL */
};

/* A variable that brings our hooks into the language's interpreter (see core/artifacts.h). */
struct sbx_lang_hook {
	const char *name;      /* "PYTHONPATH" */
	const char *value;     /* with placeholders: "{support}/python" */
	const char *separator; /* what it was follows behind it: ":"; or NULL: it is replaced … */
	const char *keep_as;   /* … and what it was has this name then; or NULL */
};

/* A kernel: an interpreter that keeps its state and runs cells, as src/lang/support has them. */
struct sbx_lang_kernel {
	const char *const *run;		 /* argv; its host is descriptor 3 */
	const char *const *run_with_set; /* in place of it, where libraries are used; or NULL */
	/* Code that lets a kernel which runs see {set}; NULL: it must be started anew. */
	const char *use_set;
	bool reset_ends; /* forgetting all is its end */
};

struct sbx_lang {
	struct sbx_language_info info;
	const char *const *extensions; /* that tell this language: ".cpp", ".cc" … */
	const char *file_name;	       /* "main.cpp" */
	const char *image;	       /* a public one with the tool chain, for container engines */
	const char *const *tools;      /* programs that must be in PATH, NULL-terminated */
	const char *const *version;    /* argv; the version is the first n.n.n it prints */
	const char *const *compile;    /* NULL: not compiled */
	const char *const *run;
	const char *const *env; /* "NAME=value" with placeholders, NULL-terminated; or NULL */
	const struct sbx_lang_hook *hooks; /* ends with a NULL name; or NULL */
	const struct sbx_lang_cache *cache; /* NULL: none */
	const struct sbx_lang_install *install; /* NULL: there are no libraries for it */
	const struct sbx_lang_kernel *kernel; /* NULL: it has none */
	/* NULL: nothing to inspect. False when the source cannot be run: *ret_why is static. */
	bool (*inspect)(const char *code, size_t len, struct sbx_lang_source *ret,
			const char **ret_why);
};

#define SBX_ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The PATH inside every sandbox; tools are looked up in it. */
#define SBX_LANG_PATH "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin"

const struct sbx_lang *sbx_lang_at(size_t n);
const struct sbx_lang *sbx_lang_find(const char *name);
const struct sbx_lang *sbx_lang_guess(const char *file_name);

/* Values of the placeholders; a NULL one must not appear in the template. */
struct sbx_lang_values {
	const char *src, *dir, *build, *main;
	const char *set, *home, *final, *support;
	const char *const *requirements, *const *words; /* NULL-terminated, or NULL */
	unsigned long memory_mb, cpus;
	unsigned long proxy_port; /* 0: no proxy */
};

/*
 * A template with its placeholders replaced, and extra strings behind it (NULL-terminated, or
 * NULL): a NULL-terminated list that the caller frees with sbx_strv_free() (base/strv.h). NULL without memory.
 */
char **sbx_lang_expand(const char *const *argv_template, const struct sbx_lang_values *values,
		       const char *const *extra);
