/* accounting.cpp -- lab 1.  C style. */
#include "accounting.hpp"
#include <math.h>
#include <float.h>
#include <string.h>
#include <stdio.h>

#define MM(m,n,k) (2.0*(m)*(n)*(k))
#define MAX(a,b) ((a)>(b)?(a):(b))
#define DAY 86400.0

namespace lab01 {

double matmul_flops(double m, double n, double k) { return MM(m,n,k); }
double linear_forward_flops(double d, double i, double o) { return MM(d,o,i); }
double linear_backward_flops(double d, double i, double o, bool ig)
{
	double r = MM(i, o, d);
	if (!ig) goto done;
	r += MM(d, i, o);
done:
	return r;
}
double training_flops(double p, double d) { return 6*p*d; }

#define C m.channels
double parameters(const transformer& m)
{
	double wte = m.vocabulary*C, wpe = m.context*C;
	double l = 2*C + C*3*C + 3*C + C*C + C + 2*C + C*4*C + 4*C + 4*C*C + C;
	return wte + wpe + m.layers*l + 2*C;
}
double attention_flops(double b, double h, double t, double hs, bool causal)
{
	double pairs = t*t;
	if (causal) pairs = t*(t+1)/2;
	return b*h*2*MM(1,hs,pairs);
}
double forward_flops(const transformer& m, double b, double t, bool causal)
{
	double f = 0; int l;
	for (l = 0; l < (int)m.layers; l++) {
		f += MM(b*t, 3*C, C);
		f += attention_flops(b, m.heads, t, C/m.heads, causal);
		f += MM(b*t, C, C) + 2*MM(b*t, 4*C, C);
	}
	f += MM(b*t, m.vocabulary, C);
	return f;
}
training_bytes training_memory(const transformer& m, double b, double t, double s, double a)
{
	training_bytes r;
	double act = 0;
	memset(&r, 0, sizeof r);
	r.weights = parameters(m)*s;
	r.gradients = r.weights;
	r.optimizer = 2*r.weights;
	act += m.layers*(16*t*C + m.heads*t*t);
	act += 2*t*C + t*m.vocabulary;
	r.activations = b*act*a;
	r.batch = b*t*16;
	return r;
}
double kv_cache_bytes(const transformer& m, double b, double t, double e) { return 2*m.layers*b*t*C*e; }
#undef C

range range_of(format f)
{
	range r;
	int bias = (1 << (f.exponent_bits-1)) - 1;
	r.bytes = (1 + f.exponent_bits + f.mantissa_bits)/8.0;
	r.epsilon = pow(2.0, -f.mantissa_bits);
	r.largest = pow(2.0, bias)*(2 - r.epsilon);
	r.smallest_normal = pow(2.0, 1-bias);
	r.smallest = r.smallest_normal*r.epsilon;
	return r;
}
double stored(double v, format f)
{
	range r = range_of(f);
	int e;
	double q, res;
	if (v == 0 || isnan(v) || isinf(v)) return v;
	frexp(v, &e); e--;
	q = ldexp(1.0, e - f.mantissa_bits);
	if (q < r.smallest) q = r.smallest;
	res = rint(v/q)*q;
	if (fabs(res) > r.largest) res = copysign(INFINITY, v);
	return res;
}
double elementwise_intensity(double f, double r, double w, double b) { return f/((r+w)*b); }
double matmul_intensity(double m, double n, double k, double b) { return MM(m,n,k)/(b*(m*n+n*k+m*k)); }
double roofline_seconds(double f, double b, double pf, double pb) { return MAX(f/pf, b/pb); }
double mfu(double p, double t, double pk) { return 6*p*t/pk; }
double hfu(double p, double t, double pk, double r) { return (6+2*r)*p*t/pk; }
double training_days(double p, double t, double d, double pk, double m) { return 6*p*t/(d*pk*m)/DAY; }
double largest_model(double d, double b, double bpp) { return d*b/bpp; }
}
