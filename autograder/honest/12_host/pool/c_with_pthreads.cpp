/* C with POSIX threads: a fixed array, goto, a macro that locks. */
#include <pthread.h>
#include <stdlib.h>

#include "host.hpp"

#define LOCKED(p, ...)            \
  do {                            \
    pthread_mutex_lock(&p->lock); \
    __VA_ARGS__;                  \
    pthread_mutex_unlock(&p->lock); \
  } while (0)

namespace lab12 {

struct pool {
  pthread_t id[8];
  int n, next, parts, left, stop;
  void (*work)(void*, int);
  void* state;
  pthread_mutex_t lock;
  pthread_cond_t go, done;
};

}  // namespace lab12

static int take(lab12::pool* p, int wait) {
  int part = -1;
  pthread_mutex_lock(&p->lock);
again:
  if (p->next < p->parts)
    part = p->next++;
  else if (wait && !p->stop) {
    pthread_cond_wait(&p->go, &p->lock);
    goto again;
  }
  pthread_mutex_unlock(&p->lock);
  return part;
}

static void finish(lab12::pool* p, int part) {
  p->work(p->state, part);
  LOCKED(p, if (--p->left == 0) pthread_cond_signal(&p->done));
}

static void* loop(void* arg) {
  lab12::pool* p = (lab12::pool*)arg;
  int part;
  while ((part = take(p, 1)) >= 0) finish(p, part);
  return NULL;
}

lab12::pool* lab12::start_pool(int threads) {
  pool* p = (pool*)calloc(1, sizeof *p);
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->go, NULL);
  pthread_cond_init(&p->done, NULL);
  for (p->n = 0; p->n < threads; p->n++) pthread_create(&p->id[p->n], NULL, loop, p);
  return p;
}

void lab12::run(pool& r, void (*work)(void* state, int part), void* state, int parts) {
  pool* p = &r;
  int part;
  LOCKED(p, p->work = work; p->state = state; p->next = 0; p->parts = p->left = parts; pthread_cond_broadcast(&p->go));
  while ((part = take(p, 0)) >= 0) finish(p, part);
  LOCKED(p, while (p->left > 0) pthread_cond_wait(&p->done, &p->lock));
}

void lab12::stop_pool(pool* p) {
  LOCKED(p, p->stop = 1; pthread_cond_broadcast(&p->go));
  for (int i = 0; i < p->n; i++) pthread_join(p->id[i], NULL);
  pthread_cond_destroy(&p->go);
  pthread_cond_destroy(&p->done);
  pthread_mutex_destroy(&p->lock);
  free(p);
}
