/* SPDX-License-Identifier: MIT */
#include "core/mime.h"

#include "base/buf.h"
#include "base/text.h"

#include <ctype.h>
#include <magic.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Tests that parse formats of their own or run something are left out: the bytes are hostile. */
#define FLAGS                                                                                 \
	(MAGIC_MIME_TYPE | MAGIC_NO_CHECK_COMPRESS | MAGIC_NO_CHECK_TAR | MAGIC_NO_CHECK_CDF | \
	 MAGIC_NO_CHECK_ELF | MAGIC_NO_CHECK_APPTYPE | MAGIC_NO_CHECK_TOKENS |                \
	 MAGIC_NO_CHECK_CSV | MAGIC_NO_CHECK_JSON)

/* ---- endings ---- */

struct ending {
	const char *name, *mime_type;
	bool text; /* bytes of it are text, or it is another thing */
};

static const struct ending endings[] = {
	{"aac", "audio/aac", false},
	{"avi", "video/x-msvideo", false},
	{"avif", "image/avif", false},
	{"bmp", "image/bmp", false},
	{"csv", "text/csv", true},
	{"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", false},
	{"eps", "application/postscript", true},
	{"flac", "audio/flac", false},
	{"geojson", "application/geo+json", true},
	{"gif", "image/gif", false},
	{"htm", "text/html", true},
	{"html", "text/html", true},
	{"ico", "image/vnd.microsoft.icon", false},
	{"jpeg", "image/jpeg", false},
	{"jpg", "image/jpeg", false},
	{"json", "application/json", true},
	{"m4a", "audio/mp4", false},
	{"md", "text/markdown", true},
	{"mid", "audio/midi", false},
	{"mkv", "video/x-matroska", false},
	{"mov", "video/quicktime", false},
	{"mp3", "audio/mpeg", false},
	{"mp4", "video/mp4", false},
	{"ods", "application/vnd.oasis.opendocument.spreadsheet", false},
	{"odt", "application/vnd.oasis.opendocument.text", false},
	{"oga", "audio/ogg", false},
	{"ogg", "audio/ogg", false},
	{"ogv", "video/ogg", false},
	{"opus", "audio/ogg", false},
	{"pdf", "application/pdf", false},
	{"pgf", "application/x-tex", true},
	{"png", "image/png", false},
	{"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation", false},
	{"ps", "application/postscript", true},
	{"svg", "image/svg+xml", true},
	{"svgz", "image/svg+xml-compressed", false},
	{"tex", "text/latex", true},
	{"tif", "image/tiff", false},
	{"tiff", "image/tiff", false},
	{"tsv", "text/tab-separated-values", true},
	{"txt", "text/plain", true},
	{"wav", "audio/wav", false},
	{"webm", "video/webm", false},
	{"webp", "image/webp", false},
	{"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", false},
};

/* Sources, logs and what compilers leave: never an artifact, also where one begins like HTML. */
static const char *const never[] = {
	"a",	"bash", "bin",	"c",   "cc",   "class", "cfg", "cjs",  "conf", "cpp", "cs",  "css",
	"cxx",	"db",	"diff", "erb", "gem",  "go",	"gz",  "h",    "hpp",  "ini", "jar", "java",
	"js",	"jsx",	"kt",	"lock", "log", "md",	"mjs", "mod",  "o",    "out", "php", "pkl",
	"pl",	"pm",	"pth",	"py",  "pyc",  "pyi",	"r",   "rb",   "rda",  "rdata", "rds", "rmd",
	"rs",	"scala", "sh",	"so",  "sql",  "sqlite", "sum", "swift", "tar", "tex", "tmp", "toml",
	"ts",	"tsx",	"txt",	"vue", "whl",  "xml",	"xz",  "yaml", "yml",  "zip",
};

static const char *ending_of(const char *name)
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	const char *dot = strrchr(base, '.');

	return dot != NULL && dot != base ? dot + 1 : "";
}

static const struct ending *find_ending(const char *name)
{
	const char *ending = ending_of(name);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (strcasecmp(endings[i].name, ending) == 0)
			return &endings[i];
	}
	return NULL;
}

enum sbx_mime_hint sbx_mime_hint(const char *name)
{
	const struct ending *known = find_ending(name);
	const char *ending = ending_of(name);

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		if (strcasecmp(never[i], ending) == 0)
			return SBX_MIME_NEVER;
	}
	return known != NULL && sbx_mime_is_artifact(known->mime_type) ? SBX_MIME_LIKELY
								       : SBX_MIME_PERHAPS;
}

/* ---- kinds ---- */

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

bool sbx_mime_is_artifact(const char *mime_type)
{
	static const char *const families[] = {
		"image/", "audio/", "video/", "application/vnd.openxmlformats-officedocument.",
		"application/vnd.oasis.opendocument.",
	};
	static const char *const types[] = {
		"application/geo+json", "application/json", "application/pdf",
		"application/postscript", "text/csv", "text/html", "text/tab-separated-values",
	};

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		if (starts_with(mime_type, families[i]))
			return true;
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(types[i], mime_type) == 0)
			return true;
	}
	return false;
}

/* RFC 6838 section 4.2: type "/" subtype, with nothing behind it. */
static bool is_well_formed(const char *mime_type)
{
	size_t len = strlen(mime_type), slashes = 0;

	if (len < 3 || len >= SBX_MIME_MAX || !isalnum((unsigned char)mime_type[0]))
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)mime_type[i];

		if (c == '/') {
			slashes++;
			if (!isalnum((unsigned char)mime_type[i + 1]))
				return false;
		} else if (c >= 0x80 || (!isalnum(c) && strchr("!#$&-^_.+", c) == NULL)) {
			return false;
		}
	}
	return slashes == 1;
}

/* ---- what needs no database ---- */

struct signature {
	const char *bytes;
	size_t len;
	const char *mime_type;
};

static const struct signature signatures[] = {
	{"\x89PNG\r\n\x1a\n", 8, "image/png"},
	{"%PDF-", 5, "application/pdf"},
	{"GIF87a", 6, "image/gif"},
	{"GIF89a", 6, "image/gif"},
	{"\xff\xd8\xff", 3, "image/jpeg"},
};

/* UTF-8 without control characters; the last character may be cut. */
static bool is_clean_text(const char *head, size_t len)
{
	struct sbx_buf nowhere = SBX_BUF_INIT(0);
	bool clean;

	if (len == SBX_MIME_HEAD) {
		while (len > 0 && ((unsigned char)head[len - 1] & 0xc0) == 0x80)
			len--;
		if (len > 0 && (unsigned char)head[len - 1] >= 0xc0)
			len--;
	}
	clean = sbx_text_append_utf8(&nowhere, head, len);
	sbx_buf_done(&nowhere);
	for (size_t i = 0; clean && i < len; i++)
		clean = (unsigned char)head[i] >= 0x20 || strchr("\t\n\f\r", head[i]) != NULL;
	return clean && memchr(head, '\0', len) == NULL;
}

/* Text that is called a picture is one when the element is there. */
static bool lacks_svg(const struct ending *known, const char *head, size_t len)
{
	return strcmp(known->mime_type, "image/svg+xml") == 0 && memmem(head, len, "<svg", 4) == NULL;
}

/*
 * Most of what comes is told by a few bytes, or is text of which the ending says what kind it is;
 * so most runs never load the database, which takes some milliseconds. Or NULL.
 */
static const char *tell_quickly(const struct ending *known, const char *head, size_t len)
{
	for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++) {
		const struct signature *s = &signatures[i];

		if (len >= s->len && memcmp(head, s->bytes, s->len) == 0)
			return s->mime_type;
	}
	if (known == NULL || !known->text || !is_clean_text(head, len) || lacks_svg(known, head, len))
		return NULL;
	return known->mime_type;
}

/* ---- libmagic ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static magic_t magic; /* guarded by lock; NULL: not loaded, or there is none */
static bool tried;

/* A process that is forked off has none of the threads, one of which may have had the lock. */
static void start_anew_in_a_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	/* Somebody may have been in the middle of it. */
	magic = NULL;
	tried = false;
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, start_anew_in_a_child);
}

static void limit(int parameter, size_t value)
{
	magic_setparam(magic, parameter, &value);
}

static void load(void)
{
	tried = true;
	magic = magic_open(FLAGS);
	if (magic == NULL)
		return;
	limit(MAGIC_PARAM_BYTES_MAX, SBX_MIME_HEAD);
	limit(MAGIC_PARAM_ENCODING_MAX, SBX_MIME_HEAD);
	limit(MAGIC_PARAM_REGEX_MAX, SBX_MIME_HEAD);
	limit(MAGIC_PARAM_INDIR_MAX, 8);
	limit(MAGIC_PARAM_NAME_MAX, 32);
	if (magic_load(magic, NULL) == 0)
		return;
	magic_close(magic);
	magic = NULL;
}

/* Its answer, or "" where it has none. */
static void ask(const void *head, size_t len, char ret[SBX_MIME_MAX])
{
	const char *answer = NULL;

	ret[0] = '\0';
	pthread_mutex_lock(&lock);
	if (!tried)
		load();
	if (magic != NULL)
		answer = magic_buffer(magic, head, len < SBX_MIME_HEAD ? len : SBX_MIME_HEAD);
	if (answer != NULL && is_well_formed(answer))
		snprintf(ret, SBX_MIME_MAX, "%s", answer);
	pthread_mutex_unlock(&lock);
}

/* Text by libmagic's word, or, without it, for want of a NUL. */
static bool is_text(const char *found, const void *head, size_t len)
{
	if (found[0] == '\0' || len == 0)
		return len == 0 || memchr(head, '\0', len) == NULL;
	return strcmp(found, "text/plain") == 0;
}

/* It says no more than that it does not know, or what the file is packed as. */
static bool is_vague(const char *found)
{
	static const char *const vague[] = {"", "application/octet-stream", "application/zip",
					    "application/gzip", "application/x-empty",
					    "inode/x-empty"};

	for (size_t i = 0; i < sizeof(vague) / sizeof(vague[0]); i++) {
		if (strcmp(vague[i], found) == 0)
			return true;
	}
	return false;
}

/* ---- both ---- */

/*
 * Whether the ending may say it: of text always, of other bytes where libmagic could not know it.
 * A picture or a document that it does not see as one would be none to whoever opens it.
 */
static bool ending_tells(const struct ending *known, const char *found, bool text)
{
	if (known == NULL || known->text != text)
		return false;
	if (text || found[0] == '\0' || strcmp(found, "application/octet-stream") != 0)
		return text || found[0] == '\0' || starts_with(known->mime_type, "application/vnd.") ||
		       strcmp(known->mime_type, "image/svg+xml-compressed") == 0;
	return starts_with(known->mime_type, "audio/") || starts_with(known->mime_type, "video/");
}

/* Names that libmagic has for what has a registered one. */
static const char *registered(const char *found)
{
	static const char *const names[][2] = {
		{"audio/x-wav", "audio/wav"},
		{"audio/x-flac", "audio/flac"},
		{"audio/x-m4a", "audio/mp4"},
		{"image/x-ms-bmp", "image/bmp"},
		{"image/svg", "image/svg+xml"},
		{"application/ogg", "audio/ogg"},
		{"text/x-tex", "text/latex"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i][0], found) == 0)
			return names[i][1];
	}
	return found;
}

static bool claim_fits(const char *claim, bool text)
{
	static const char *const texts[] = {"application/json", "application/x-tex",
					    "application/javascript", "application/postscript"};

	if (claim == NULL || !is_well_formed(claim))
		return false;
	if (!text)
		return starts_with(claim, "application/");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (strcmp(texts[i], claim) == 0)
			return true;
	}
	return starts_with(claim, "text/") || (starts_with(claim, "application/") &&
					       strstr(claim, "+json") != NULL);
}

/* What libmagic finds, else what the ending, else what somebody says. found has room for it. */
static const char *decide(const struct ending *known, const void *head, size_t len,
			  const char *claim, char found[SBX_MIME_MAX])
{
	bool text;

	ask(head, len, found);
	text = is_text(found, head, len);
	if (!text && !is_vague(found))
		return registered(found);
	if (ending_tells(known, found, text) && !(text && lacks_svg(known, head, len)))
		return known->mime_type;
	if (claim_fits(claim, text))
		return claim;
	return text ? "text/plain" : "application/octet-stream";
}

void sbx_mime_find(const char *name, const void *head, size_t len, const char *claim,
		   char ret[SBX_MIME_MAX])
{
	const struct ending *known = find_ending(name);
	const char *answer = tell_quickly(known, head, len);
	char found[SBX_MIME_MAX];

	if (answer == NULL)
		answer = decide(known, head, len, claim, found);
	snprintf(ret, SBX_MIME_MAX, "%s", answer);
	for (char *c = ret; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
}
