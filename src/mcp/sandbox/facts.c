/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/facts.h"

#include <string.h>

#define LIST(...)     ((const char *const[]){__VA_ARGS__, NULL})
#define EXAMPLES(...) ((const struct mcp_example[]){__VA_ARGS__, {NULL, NULL, NULL}})

static const struct mcp_facts rows[] = {
	{
		.language = "python",
		.tool_chain = "Python",
		.package_manager = "pip",
		.use_cases = LIST("Calculations and data analysis", "Text and file processing",
				  "Algorithms and simulations", "Checking an idea quickly"),
		.examples = EXAMPLES(
			{"Hello world", "Print a line", "print('Hello, world!')\n"},
			{"Statistics", "Mean and spread with the standard library",
			 "import statistics\n"
			 "\n"
			 "data = [2.5, 3.1, 4.7, 5.0, 6.2]\n"
			 "print('mean', round(statistics.mean(data), 3))\n"
			 "print('stdev', round(statistics.stdev(data), 3))\n"},
			{"Read CSV from stdin", "Sum a column of what the argument stdin gives",
			 "import csv, sys\n"
			 "\n"
			 "rows = list(csv.DictReader(sys.stdin))\n"
			 "print(len(rows), 'rows, total', sum(float(r['amount']) for r in rows))\n"}),
	},
	{
		.language = "java",
		.tool_chain = "OpenJDK",
		.package_manager = "Maven",
		.use_cases = LIST("Object-oriented programs", "Concurrency",
				  "Checking code for the JVM"),
		.examples = EXAMPLES(
			{"Hello world", "Print a line; any class name will do",
			 "public class Main {\n"
			 "    public static void main(String[] args) {\n"
			 "        System.out.println(\"Hello, world!\");\n"
			 "    }\n"
			 "}\n"},
			{"Streams", "Filter and sum with streams",
			 "import java.util.stream.IntStream;\n"
			 "\n"
			 "public class Main {\n"
			 "    public static void main(String[] args) {\n"
			 "        int sum = IntStream.rangeClosed(1, 100).filter(n -> n % 3 == 0).sum();\n"
			 "        System.out.println(\"sum of multiples of 3: \" + sum);\n"
			 "    }\n"
			 "}\n"}),
	},
	{
		.language = "javascript",
		.tool_chain = "Node.js",
		.package_manager = "npm",
		.use_cases = LIST("JSON and text processing", "Asynchronous programs",
				  "Checking code for Node.js"),
		.examples = EXAMPLES(
			{"Hello world", "Print a line", "console.log('Hello, world!');\n"},
			{"Group data", "Group objects by a key",
			 "const people = [\n"
			 "  { name: 'Ada', team: 'red' },\n"
			 "  { name: 'Bob', team: 'blue' },\n"
			 "  { name: 'Cyd', team: 'red' },\n"
			 "];\n"
			 "const teams = {};\n"
			 "for (const { name, team } of people) (teams[team] = teams[team] || []).push(name);\n"
			 "console.log(JSON.stringify(teams, null, 2));\n"}),
	},
	{
		.language = "cpp",
		.tool_chain = "GCC",
		.package_manager = "System packages",
		.use_cases = LIST("Fast algorithms", "Systems programming", "Measuring performance"),
		.examples = EXAMPLES(
			{"Hello world", "Print a line",
			 "#include <iostream>\n"
			 "\n"
			 "int main() {\n"
			 "    std::cout << \"Hello, world!\" << std::endl;\n"
			 "}\n"},
			{"Standard containers", "Count words in a map",
			 "#include <iostream>\n"
			 "#include <map>\n"
			 "#include <sstream>\n"
			 "#include <string>\n"
			 "\n"
			 "int main() {\n"
			 "    std::istringstream text(\"the cat and the dog and the bird\");\n"
			 "    std::map<std::string, int> count;\n"
			 "    for (std::string word; text >> word;) ++count[word];\n"
			 "    for (const auto &[word, n] : count) std::cout << word << ' ' << n << '\\n';\n"
			 "}\n"}),
	},
	{
		.language = "go",
		.tool_chain = "Go",
		.package_manager = "go mod",
		.use_cases = LIST("Concurrency with goroutines", "Command-line tools",
				  "Checking code for services"),
		.examples = EXAMPLES(
			{"Hello world", "Print a line",
			 "package main\n"
			 "\n"
			 "import \"fmt\"\n"
			 "\n"
			 "func main() {\n"
			 "\tfmt.Println(\"Hello, world!\")\n"
			 "}\n"},
			{"Goroutines", "Square numbers side by side",
			 "package main\n"
			 "\n"
			 "import (\n"
			 "\t\"fmt\"\n"
			 "\t\"sync\"\n"
			 ")\n"
			 "\n"
			 "func main() {\n"
			 "\tvar wait sync.WaitGroup\n"
			 "\tsquares := make([]int, 5)\n"
			 "\tfor i := range squares {\n"
			 "\t\twait.Add(1)\n"
			 "\t\tgo func(i int) {\n"
			 "\t\t\tdefer wait.Done()\n"
			 "\t\t\tsquares[i] = i * i\n"
			 "\t\t}(i)\n"
			 "\t}\n"
			 "\twait.Wait()\n"
			 "\tfmt.Println(squares)\n"
			 "}\n"}),
	},
	{
		.language = "ruby",
		.tool_chain = "Ruby",
		.package_manager = "gem",
		.use_cases = LIST("Scripts and text processing", "Trying out small languages",
				  "Checking code for Ruby services"),
		.examples = EXAMPLES(
			{"Hello world", "Print a line", "puts 'Hello, world!'\n"},
			{"Collections", "Count words with blocks",
			 "words = %w[apple pear apple fig pear apple]\n"
			 "words.tally.sort_by { |word, n| [-n, word] }.each { |word, n| puts \"#{word}: #{n}\" }\n"}),
	},
	{
		.language = "r",
		.tool_chain = "R",
		.package_manager = "CRAN",
		.use_cases = LIST("Statistics", "Models and tests", "Data frames"),
		.examples = EXAMPLES(
			{"Hello world", "Print a line", "cat('Hello, world!\\n')\n"},
			{"Linear model", "Fit a line to the built-in data set cars",
			 "model <- lm(dist ~ speed, data = cars)\n"
			 "print(round(coef(model), 3))\n"
			 "cat('R squared:', round(summary(model)$r.squared, 3), '\\n')\n"},
			{"Data frame", "Mean of a column per group",
			 "print(aggregate(mpg ~ cyl, data = mtcars, FUN = mean))\n"}),
	},
};

const struct mcp_facts *mcp_facts_find(const char *language)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].language, language) == 0)
			return &rows[i];
	}
	return NULL;
}
