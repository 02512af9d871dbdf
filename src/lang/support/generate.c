/* SPDX-License-Identifier: MIT */
/*
 * Writes C source with the files that it is given: generate OUTPUT FILE...
 *
 * A file's name is its path behind the folder "lang/support/"; byte code goes to __pycache__/
 * beside its source, where Python looks for it.
 */
#include "base/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "lang/support/"

static void fail(const char *what, const char *path)
{
	fprintf(stderr, "generate: cannot %s '%s'\n", what, path);
	exit(1);
}

static const char *name_of(const char *path)
{
	const char *name = NULL;

	for (const char *at = path; (at = strstr(at, FOLDER)) != NULL; at++)
		name = at + strlen(FOLDER);
	if (name == NULL || strchr(name, '/') == NULL)
		fail("name", path);
	return name;
}

static void print_name(FILE *out, const char *name)
{
	const char *base = strrchr(name, '/') + 1, *dot = strrchr(base, '.');
	const char *folder = dot != NULL && strcmp(dot, ".pyc") == 0 ? "__pycache__/" : "";

	fprintf(out, "%.*s%s%s", (int)(base - name), name, folder, base);
}

static void print_data(FILE *out, int number, const char *path, struct sbx_sha256 *hash)
{
	FILE *in = fopen(path, "rb");
	int c, column = 0;

	if (in == NULL)
		fail("read", path);
	sbx_sha256_add(hash, name_of(path), strlen(name_of(path)) + 1);
	fprintf(out, "static const unsigned char file_%d[] = {", number);
	while ((c = getc(in)) != EOF) {
		unsigned char byte = (unsigned char)c;

		sbx_sha256_add(hash, &byte, 1);
		fprintf(out, "%s%d,", column++ % 20 == 0 ? "\n\t" : "", c);
	}
	/* An empty file has a byte that its length does not count. */
	fprintf(out, "0};\n");
	if (ferror(in))
		fail("read", path);
	fclose(in);
}

static void print_table(FILE *out, int count, char **paths)
{
	fprintf(out, "\nconst struct sbx_embedded_file sbx_support_files[] = {\n");
	for (int i = 0; i < count; i++) {
		fprintf(out, "\t{\"");
		print_name(out, name_of(paths[i]));
		fprintf(out, "\", file_%d, sizeof(file_%d) - 1},\n", i, i);
	}
	fprintf(out, "\t{0},\n};\n");
}

int main(int argc, char **argv)
{
	struct sbx_sha256 hash = SBX_SHA256_INIT;
	char hex[SBX_SHA256_HEX];
	FILE *out;

	if (argc < 3)
		fail("do without", "OUTPUT FILE...");
	out = fopen(argv[1], "w");
	if (out == NULL)
		fail("write", argv[1]);
	fprintf(out, "#include \"lang/support.h\"\n\n");
	for (int i = 2; i < argc; i++)
		print_data(out, i - 2, argv[i], &hash);
	print_table(out, argc - 2, argv + 2);
	sbx_sha256_hex(&hash, hex);
	fprintf(out, "\nconst char sbx_support_version[] = \"%.16s\";\n", hex);
	if (fclose(out) != 0)
		fail("write", argv[1]);
	return 0;
}
