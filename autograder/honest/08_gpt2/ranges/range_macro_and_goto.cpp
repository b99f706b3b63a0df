#include "forward.hpp"
#define CAT_(a,b) a##b
#define CAT(a,b) CAT_(a,b)
#define RANGE(name) range CAT(r_,__LINE__)(on, name)
#define BLOCK(name, code) do { RANGE(name); code } while (0)
namespace lab08 {
void forward(operations& on, int layers)
{
	int l = 0;
	BLOCK("embedding", on.embed(););
next:
	if (l >= layers) goto last;
	{
		RANGE("layer");
		BLOCK("LayerNorm 1", on.normalize_before_attention(l););
		BLOCK("attention",
			on.project_to_qkv(l);
			on.multiply_queries_by_keys(l);
			on.softmax(l);
			on.weigh_values(l);
			on.project_attention(l);
		);
		BLOCK("residual 1", on.add_attention(l););
		BLOCK("LayerNorm 2", on.normalize_before_mlp(l););
		BLOCK("MLP", on.expand(l); on.gelu(l); on.contract(l););
		BLOCK("residual 2", on.add_mlp(l););
	}
	l++;
	goto next;
last:
	BLOCK("final LayerNorm", on.normalize_last(););
	BLOCK("logits", on.multiply_by_embedding(););
}
}
