/* SPDX-License-Identifier: MIT */
#include "cli/names.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define WORDS 32

static const char *const first_words[WORDS] = {
	"amber", "bold",  "brisk", "calm",  "clear",  "copper", "crisp", "dry",
	"early", "even",  "fair",  "fresh", "gentle", "glad",   "green", "keen",
	"light", "lucky", "mild",  "neat",  "noble",  "plain",  "quick", "quiet",
	"ready", "round", "sharp", "solid", "sunny",  "swift",  "warm",  "young",
};
static const char *const second_words[WORDS] = {
	"acorn", "badger", "birch", "brook", "cedar", "comet", "crane", "delta",
	"ember", "falcon", "fern",  "finch", "fjord", "grove", "heron", "island",
	"lark",  "linden", "lynx",  "maple", "marten", "moss", "otter", "pebble",
	"pine",  "plover", "reed",  "river", "sparrow", "tern", "willow", "wren",
};

static bool is_letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_good(const char *name, size_t len)
{
	if (len == 0 || len >= NAME_SIZE || !is_letter_or_digit(name[0]))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!is_letter_or_digit(name[i]) && strchr("._-", name[i]) == NULL)
			return false;
	}
	return true;
}

bool name_is_good(const char *name)
{
	return is_good(name, strnlen(name, NAME_SIZE));
}

bool name_make(char ret[NAME_SIZE])
{
	unsigned char dice[3];

	if (getrandom(dice, sizeof(dice), 0) != sizeof(dice))
		return false;
	snprintf(ret, NAME_SIZE, "%s-%s-%u", first_words[dice[0] % WORDS],
		 second_words[dice[1] % WORDS], dice[2] % 100u);
	return true;
}

bool name_split(const char *word, char ret_name[NAME_SIZE], const char **ret_path)
{
	const char *colon = strchr(word, ':');

	if (colon == NULL || !is_good(word, (size_t)(colon - word)))
		return false;
	memcpy(ret_name, word, (size_t)(colon - word));
	ret_name[colon - word] = '\0';
	*ret_path = colon + 1;
	return true;
}
