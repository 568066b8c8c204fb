/* A preloaded library that sets the clock of processes, as `date -s` sets that of a machine.

   The file named by HEADRACE_CLOCK_OFFSET has one number, a 64-bit integer in the byte order of the
   machine: the microseconds that are added to the clock. It may change while processes run, and
   all of them follow at once. Clocks that cannot be set stay as they are, and so do the times of
   files, which the kernel writes.

   With HEADRACE_CLOCK_WAITS=settable, waits for locks are until a time of the clock, as in a Python
   that was built for a C library without sem_clockwait (glibc before 2.30). */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MICROSECONDS 1000000LL
#define BILLION 1000000000LL
/* A wait until a time of the clock looks so often whether the clock was set, in nanoseconds. */
#define SLICE 20000000LL

static volatile int64_t *offset;

__attribute__((constructor)) static void map_offset(void) {
  const char *path = getenv("HEADRACE_CLOCK_OFFSET");
  int handle = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (handle < 0) return;
  void *found = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, handle, 0);
  close(handle);
  if (found != MAP_FAILED) offset = found;
}

static int is_settable(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

static int64_t nanoseconds(const struct timespec *time) {
  return time->tv_sec * BILLION + time->tv_nsec;
}

static struct timespec timespec_of(int64_t time) {
  return (struct timespec){.tv_sec = time / BILLION, .tv_nsec = time % BILLION};
}

static int64_t added(void) { return offset ? *offset * 1000 : 0; }

#define NEXT(type, name, ...) \
  static type (*next)(__VA_ARGS__); \
  if (!next) next = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

/* -- reading the clock ------------------------------------------------------------------------- */

static int read_clock(clockid_t clock, struct timespec *time) {
  NEXT(int, "clock_gettime", clockid_t, struct timespec *);
  return next(clock, time);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int failed = read_clock(clock, time);
  if (!failed && is_settable(clock)) *time = timespec_of(nanoseconds(time) + added());
  return failed;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  NEXT(int, "gettimeofday", struct timeval *, void *);
  int failed = next(time, zone);
  if (!failed) {
    int64_t shown = time->tv_sec * MICROSECONDS + time->tv_usec + (offset ? *offset : 0);
    time->tv_sec = shown / MICROSECONDS;
    time->tv_usec = shown % MICROSECONDS;
  }
  return failed;
}

time_t time(time_t *found) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (found) *found = now.tv_sec;
  return now.tv_sec;
}

int timespec_get(struct timespec *now, int base) {
  if (base != TIME_UTC || clock_gettime(CLOCK_REALTIME, now)) return 0;
  return base;
}

/* -- waiting until a time of the clock --------------------------------------------------------- */

/* Find how long to wait now for a time of the clock that is set; whether that is a slice only. */
static int slice_of(const struct timespec *until, struct timespec *real) {
  struct timespec now;
  read_clock(CLOCK_REALTIME, &now);
  int64_t left = nanoseconds(until) - (nanoseconds(&now) + added());
  int is_slice = left > SLICE;
  *real = timespec_of(nanoseconds(&now) + (left < 0 ? 0 : is_slice ? SLICE : left));
  return is_slice;
}

/* Times since the machine was started are those of a clock that cannot be set. */
static int is_of_clock(const struct timespec *until) { return until->tv_sec > BILLION; }

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
  static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  if (!next) {
    void *found = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!found) found = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    next = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))found;
  }
  struct timespec real;
  if (!is_of_clock(until)) return next(condition, mutex, until);
  int is_slice = slice_of(until, &real);
  int found = next(condition, mutex, &real);
  /* Who waits looks again after a wait that ended for no reason. */
  return found == ETIMEDOUT && is_slice ? 0 : found;
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until) {
  NEXT(int, "sem_timedwait", sem_t *, const struct timespec *);
  for (;;) {
    struct timespec real;
    int is_slice = slice_of(until, &real);
    int failed = next(semaphore, &real);
    if (!failed || errno != ETIMEDOUT || !is_slice) return failed;
  }
}

int sem_clockwait(sem_t *restrict semaphore, clockid_t clock,
                  const struct timespec *restrict until) {
  NEXT(int, "sem_clockwait", sem_t *, clockid_t, const struct timespec *);
  const char *waits = getenv("HEADRACE_CLOCK_WAITS");
  if (is_settable(clock)) return sem_timedwait(semaphore, until);
  if (!waits || *waits != 's') return next(semaphore, clock, until);
  struct timespec now, set;
  read_clock(clock, &now);
  clock_gettime(CLOCK_REALTIME, &set);
  set = timespec_of(nanoseconds(&set) + nanoseconds(until) - nanoseconds(&now));
  return sem_timedwait(semaphore, &set);
}
