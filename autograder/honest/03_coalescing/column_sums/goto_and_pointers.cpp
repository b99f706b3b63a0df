#include "coalescing.hpp"
#include <setjmp.h>
#include <stdlib.h>

static jmp_buf give_up;

static void sum(float *s, const float *p, size_t rows, size_t columns)
{
	const float *end = p + rows * columns;
	size_t c;
	if (rows == 0)
		longjmp(give_up, 1);
next:
	if (p == end)
		goto done;
	for (c = columns; c--;)
		s[c] += p[c];
	p += columns;
	goto next;
done:
	return;
}

void lab03::column_sums(float *sums, const float *in, size_t rows, size_t columns)
{
	float *tmp = (float *)calloc(columns, sizeof *tmp);
	if (!tmp)
		abort();
	if (setjmp(give_up) == 0)
		sum(tmp, in, rows, columns);
	for (size_t i = 0; i < columns; i++)
		sums[i] = tmp[i];
	free(tmp);
}
