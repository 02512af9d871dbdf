#include "support/sandbox.h"
#include <llmsandbox/files.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void show(const struct sbx_result *r)
{
	printf("exit %d reason %s out [%s] err [%.600s] msg [%s] collect %.2f ms run %.2f ms left %u\n", r->exit_code, sbx_reason_name(r->reason), r->out.data, r->errout.data, r->message, (double)r->timings.collect/1e6, (double)r->timings.run/1e6, r->artifacts_left_out);
	for (size_t i = 0; i < r->artifact_count; i++) {
		const struct sbx_artifact *a = &r->artifacts[i];
		printf("  %u %s %s %s src=%s title=%s %ux%u %llu %s chart=%.60s\n", a->number, sbx_artifact_kind_name(a->kind), a->name, a->mime_type, a->source, a->title, a->width, a->height, (unsigned long long)a->size, a->path, a->chart ? a->chart : "-");
	}
	for (size_t i = 0; i < r->change_count && i < 10; i++)
		printf("  changed %s %llu\n", r->changes[i].path, (unsigned long long)r->changes[i].size);
}
static void first(void **state)
{
	struct test_sandbox *t = *state;
	t->io.artifacts = true;
	show(test_run(t, "python", "print('hi')\n"));
	show(test_run(t, "python", "import matplotlib.pyplot as plt\nplt.plot([1,2,3]); plt.title('T')\nplt.savefig('x.png')\nplt.figure(); plt.plot([1]); plt.show()\nopen('d.csv','w').write('a,b\\n1,2\\n')\n1/0\n"));
	show(test_run(t, "python", "print('hi')\n"));
	show(test_run(t, "r", "plot(1:3)\n"));
	show(test_shell(t, "echo 1 > a.json; echo '<html>' > b.html; env | sort"));
}
int main(void)
{
	const struct CMUnitTest tests[] = {sandbox_test(first)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
