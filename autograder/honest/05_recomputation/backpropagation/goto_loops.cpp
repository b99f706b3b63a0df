#include "recomputation.hpp"
#define KEPT(i) (keep[i])
namespace lab05 {
void backpropagate(network& net, const std::uint8_t* keep, std::size_t layers)
{
	std::size_t i, j;
	i = 0;
forward_loop:
	if (i == layers) goto backward;
	net.forward(i);
	if (i && !KEPT(i-1)) net.drop(i-1);
	i++;
	goto forward_loop;
backward:
	if (layers && !KEPT(layers-1)) net.drop(layers-1);
	/* i: one past the layer whose gradient is next */
	while (i) {
		for (j = i-1; j && !KEPT(j-1); j--) ;
		if (KEPT(i-1)) { for (; j < i-1; j++) net.forward(j); }
		else { for (; j < i; j++) net.forward(j); }
		do {
			i--;
			net.backward(i);
			net.drop(i);
		} while (i && !KEPT(i-1));
	}
}
}
