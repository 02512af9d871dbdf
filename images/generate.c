/* SPDX-License-Identifier: MIT */
/*
 * Writes C source with the recipes of images: generate OUTPUT OPTIONS LANGUAGE PACKAGES ..., where
 * OPTIONS and each PACKAGES are files of lines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_lines(FILE *out, const char *path)
{
	FILE *in = fopen(path, "r");
	char line[1024];

	if (in == NULL) {
		fprintf(stderr, "generate: cannot read '%s'\n", path);
		exit(1);
	}
	while (fgets(line, sizeof(line), in) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '\0')
			continue;
		fputs("\t\"", out);
		for (const char *c = line; *c != '\0'; c++)
			fprintf(out, strchr("\"\\", *c) ? "\\%c" : "%c", *c);
		fputs("\",\n", out);
	}
	fclose(in);
}

static void print_list(FILE *out, const char *name, int number, const char *path)
{
	fprintf(out, "static const char *const %s_%d[] = {\n", name, number);
	print_lines(out, path);
	fputs("\tNULL,\n};\n\n", out);
}

int main(int argc, char **argv)
{
	FILE *out = argc > 2 ? fopen(argv[1], "w") : NULL;

	if (out == NULL || argc % 2 == 0)
		return 1;
	fputs("#include \"core/image_recipe.h\"\n\n#include <stddef.h>\n\n", out);
	print_list(out, "options", 0, argv[2]);
	for (int i = 3; i < argc; i += 2)
		print_list(out, "packages", i, argv[i + 1]);
	fputs("const char *const *const sbx_image_options = options_0;\n\n"
	      "const struct sbx_image_recipe sbx_image_recipes[] = {\n", out);
	for (int i = 3; i < argc; i += 2)
		fprintf(out, "\t{\"%s\", packages_%d},\n", argv[i], i);
	fputs("\t{NULL, NULL},\n};\n", out);
	return fclose(out) == 0 ? 0 : 1;
}
