/* A preloaded library that makes calls on files fail as a disk does.

   The folder in HEADRACE_DISK_FAULTS has a file `rules`, a line each:

       OPERATION FAULT FIRST TIMES PATTERN

   The FIRST call of the OPERATION on a path that matches PATTERN (as in fnmatch, and `*` matches
   slashes too) and the TIMES - 1 calls after it fail. Rules may change while processes run; calls
   are counted over all processes, in the file `counts`. Each fault is a line of the file `hits`.

   FAULT is the name of an error, or
     SHORT  half of the bytes are written, and the call says so;
     TORN   half of the bytes are written, and the call fails with ENOSPC;
     LOST   fsync fails with EIO, and what was written since the last fsync is zeros. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_RULES 16
#define MOST_HANDLES 4096
enum { SHORT = -1, TORN = -2, LOST = -3 };

struct rule {
  char operation[16], pattern[PATH_MAX];
  int fault, place;
  long first, times;
};

static struct rule rules[MOST_RULES];
static int rule_count;
static long *counts;
static char folder[PATH_MAX - 8];
static struct timespec changed;
static ino_t changed_inode;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
/* Where the bytes of a file begin that are not synced, by handle. */
static struct { ino_t inode; off_t start; int is_dirty; } unsynced[MOST_HANDLES];

static const struct { const char *name; int number; } FAULTS[] = {
    {"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EDQUOT", EDQUOT}, {"EROFS", EROFS}, {"EACCES", EACCES},
    {"SHORT", SHORT},   {"TORN", TORN},     {"LOST", LOST},
};

static int fault_of(const char *name) {
  for (size_t each = 0; each < sizeof FAULTS / sizeof *FAULTS; each++)
    if (!strcmp(name, FAULTS[each].name)) return FAULTS[each].number;
  return EIO;
}

static int raw_open(const char *name, int flags) {
  char path[PATH_MAX + 8];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

/* Read the rules again if they have changed; with the guard. */
static void refresh(void) {
  char path[PATH_MAX + 8], text[8192], *line, *rest;
  struct stat state;
  if (!*folder) {
    const char *named = getenv("HEADRACE_DISK_FAULTS");
    if (!named) return;
    snprintf(folder, sizeof folder, "%s", named);
    int handle = raw_open("counts", O_RDWR);
    if (handle < 0) abort();
    counts = mmap(NULL, MOST_RULES * sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
    syscall(SYS_close, handle);
    if (counts == MAP_FAILED) abort();
  }
  snprintf(path, sizeof path, "%s/rules", folder);
  if (syscall(SYS_newfstatat, AT_FDCWD, path, &state, 0)) return;
  if (state.st_ino == changed_inode && state.st_mtim.tv_sec == changed.tv_sec &&
      state.st_mtim.tv_nsec == changed.tv_nsec)
    return;
  changed = state.st_mtim;
  changed_inode = state.st_ino;
  int handle = raw_open("rules", O_RDONLY);
  long size = syscall(SYS_read, handle, text, sizeof text - 1);
  syscall(SYS_close, handle);
  text[size < 0 ? 0 : size] = 0;
  rule_count = 0;
  for (line = strtok_r(text, "\n", &rest); line && rule_count < MOST_RULES;
       line = strtok_r(NULL, "\n", &rest)) {
    struct rule *each = &rules[rule_count];
    char fault[16];
    if (sscanf(line, "%15s %15s %ld %ld %4095[^\n]", each->operation, fault, &each->first,
               &each->times, each->pattern) != 5)
      abort();
    each->fault = fault_of(fault);
    each->place = rule_count++;
  }
}

static void note(const struct rule *rule, const char *path) {
  char line[PATH_MAX + 64];
  int length = snprintf(line, sizeof line, "%s %d %s\n", rule->operation, rule->fault, path);
  int handle = raw_open("hits", O_WRONLY | O_CREAT | O_APPEND);
  syscall(SYS_write, handle, line, length);
  syscall(SYS_close, handle);
}

/* The fault of a call on a path; 0 if it has none. */
static int fault_at(const char *operation, const char *path) {
  int found = 0;
  pthread_mutex_lock(&guard);
  refresh();
  for (int each = 0; each < rule_count && !found; each++) {
    struct rule *rule = &rules[each];
    if (strcmp(rule->operation, operation) || fnmatch(rule->pattern, path, 0)) continue;
    long number = __atomic_add_fetch(&counts[rule->place], 1, __ATOMIC_SEQ_CST);
    if (number < rule->first || number >= rule->first + rule->times) continue;
    found = rule->fault;
    note(rule, path);
  }
  pthread_mutex_unlock(&guard);
  return found;
}

static int is_wanted(const char *operation) {
  int found = 0;
  pthread_mutex_lock(&guard);
  refresh();
  for (int each = 0; each < rule_count; each++) found |= !strcmp(rules[each].operation, operation);
  pthread_mutex_unlock(&guard);
  return found;
}

static const char *path_of(int handle, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
  long size = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
  if (size < 0) return "";
  path[size] = 0;
  return path;
}

static int fault_of_handle(const char *operation, int handle) {
  char path[PATH_MAX];
  if (!is_wanted(operation)) return 0;
  return fault_at(operation, path_of(handle, path));
}

static int fault_of_path(const char *operation, int folder_handle, const char *path) {
  char whole[2 * PATH_MAX], base[PATH_MAX];
  if (!is_wanted(operation)) return 0;
  if (*path == '/') return fault_at(operation, path);
  if (folder_handle == AT_FDCWD) {
    if (syscall(SYS_getcwd, base, sizeof base) < 0) *base = 0;
  } else
    path_of(folder_handle, base);
  snprintf(whole, sizeof whole, "%s/%s", base, path);
  return fault_at(operation, whole);
}

#define NEXT(type, name, ...) \
  static type (*next)(__VA_ARGS__); \
  if (!next) next = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)
#define FAIL(number) return errno = (number), -1

/* -- writing ----------------------------------------------------------------------------------- */

static void note_write(int handle, off_t start) {
  struct stat state;
  if (handle >= MOST_HANDLES || fstat(handle, &state) || !S_ISREG(state.st_mode)) return;
  if (start < 0)
    start = fcntl(handle, F_GETFL) & O_APPEND ? state.st_size : lseek(handle, 0, SEEK_CUR);
  if (unsynced[handle].is_dirty && unsynced[handle].inode == state.st_ino &&
      unsynced[handle].start <= start)
    return;
  unsynced[handle].inode = state.st_ino;
  unsynced[handle].start = start;
  unsynced[handle].is_dirty = 1;
}

static void lose(int handle) {
  static const char zeros[65536];
  char link[64];
  struct stat state;
  if (handle >= MOST_HANDLES || !unsynced[handle].is_dirty || fstat(handle, &state)) return;
  if (unsynced[handle].inode != state.st_ino) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
  int own = (int)syscall(SYS_openat, AT_FDCWD, link, O_WRONLY, 0);
  for (off_t place = unsynced[handle].start; place < state.st_size;) {
    off_t left = state.st_size - place;
    size_t part = left < (off_t)sizeof zeros ? (size_t)left : sizeof zeros;
    if (syscall(SYS_pwrite64, own, zeros, part, place) <= 0) break;
    place += (off_t)part;
  }
  syscall(SYS_close, own);
  unsynced[handle].is_dirty = 0;
}

ssize_t write(int handle, const void *bytes, size_t size) {
  NEXT(ssize_t, "write", int, const void *, size_t);
  if (size < 2) return next(handle, bytes, size);
  int fault = fault_of_handle("write", handle);
  if (is_wanted("fsync")) note_write(handle, -1);
  if (fault == SHORT) return next(handle, bytes, size / 2);
  if (fault == TORN) {
    next(handle, bytes, size / 2);
    FAIL(ENOSPC);
  }
  if (fault) FAIL(fault);
  return next(handle, bytes, size);
}

static ssize_t write_at(ssize_t (*next)(int, const void *, size_t, off_t), int handle,
                        const void *bytes, size_t size, off_t place) {
  if (size < 2) return next(handle, bytes, size, place);
  int fault = fault_of_handle("write", handle);
  if (is_wanted("fsync")) note_write(handle, place);
  if (fault == SHORT) return next(handle, bytes, size / 2, place);
  if (fault == TORN) {
    next(handle, bytes, size / 2, place);
    FAIL(ENOSPC);
  }
  if (fault) FAIL(fault);
  return next(handle, bytes, size, place);
}

ssize_t pwrite(int handle, const void *bytes, size_t size, off_t place) {
  NEXT(ssize_t, "pwrite", int, const void *, size_t, off_t);
  return write_at(next, handle, bytes, size, place);
}

ssize_t pwrite64(int handle, const void *bytes, size_t size, off_t place) {
  NEXT(ssize_t, "pwrite64", int, const void *, size_t, off_t);
  return write_at(next, handle, bytes, size, place);
}

ssize_t writev(int handle, const struct iovec *parts, int count) {
  NEXT(ssize_t, "writev", int, const struct iovec *, int);
  int fault = fault_of_handle("write", handle);
  if (is_wanted("fsync")) note_write(handle, -1);
  if (fault == SHORT || fault == TORN) {
    ssize_t written = count ? write(handle, parts[0].iov_base, parts[0].iov_len) : 0;
    if (fault == SHORT) return written;
    FAIL(ENOSPC);
  }
  if (fault) FAIL(fault);
  return next(handle, parts, count);
}

static int sync_fault(int handle) {
  int fault = fault_of_handle("fsync", handle);
  if (fault == LOST) {
    lose(handle);
    return EIO;
  }
  if (!fault && handle < MOST_HANDLES) unsynced[handle].is_dirty = 0;
  return fault;
}

int fsync(int handle) {
  NEXT(int, "fsync", int);
  int fault = sync_fault(handle);
  if (fault) FAIL(fault);
  return next(handle);
}

int fdatasync(int handle) {
  NEXT(int, "fdatasync", int);
  int fault = sync_fault(handle);
  if (fault) FAIL(fault);
  return next(handle);
}

int ftruncate(int handle, off_t size) {
  NEXT(int, "ftruncate", int, off_t);
  int fault = fault_of_handle("ftruncate", handle);
  if (fault) FAIL(fault);
  return next(handle, size);
}

int ftruncate64(int handle, off_t size) {
  NEXT(int, "ftruncate64", int, off_t);
  int fault = fault_of_handle("ftruncate", handle);
  if (fault) FAIL(fault);
  return next(handle, size);
}

/* -- opening and reading ----------------------------------------------------------------------- */

static int open_fault(int folder_handle, const char *path, int flags) {
  int writes = flags & (O_WRONLY | O_RDWR | O_CREAT);
  return fault_of_path(writes ? "create" : "open", folder_handle, path);
}

#define MODE(flags) \
  mode_t mode = 0; \
  if (flags & (O_CREAT | O_TMPFILE)) { \
    va_list rest; \
    va_start(rest, flags); \
    mode = va_arg(rest, mode_t); \
    va_end(rest); \
  }

int open(const char *path, int flags, ...) {
  NEXT(int, "open", const char *, int, ...);
  MODE(flags)
  int fault = open_fault(AT_FDCWD, path, flags);
  if (fault) FAIL(fault);
  return next(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  NEXT(int, "open64", const char *, int, ...);
  MODE(flags)
  int fault = open_fault(AT_FDCWD, path, flags);
  if (fault) FAIL(fault);
  return next(path, flags, mode);
}

int openat(int folder_handle, const char *path, int flags, ...) {
  NEXT(int, "openat", int, const char *, int, ...);
  MODE(flags)
  int fault = open_fault(folder_handle, path, flags);
  if (fault) FAIL(fault);
  return next(folder_handle, path, flags, mode);
}

int openat64(int folder_handle, const char *path, int flags, ...) {
  NEXT(int, "openat64", int, const char *, int, ...);
  MODE(flags)
  int fault = open_fault(folder_handle, path, flags);
  if (fault) FAIL(fault);
  return next(folder_handle, path, flags, mode);
}

ssize_t read(int handle, void *bytes, size_t size) {
  NEXT(ssize_t, "read", int, void *, size_t);
  int fault = fault_of_handle("read", handle);
  if (fault) FAIL(fault);
  return next(handle, bytes, size);
}

/* -- names ------------------------------------------------------------------------------------- */

int rename(const char *from, const char *to) {
  NEXT(int, "rename", const char *, const char *);
  int fault = fault_of_path("rename", AT_FDCWD, to);
  if (fault) FAIL(fault);
  return next(from, to);
}

int renameat(int from_handle, const char *from, int to_handle, const char *to) {
  NEXT(int, "renameat", int, const char *, int, const char *);
  int fault = fault_of_path("rename", to_handle, to);
  if (fault) FAIL(fault);
  return next(from_handle, from, to_handle, to);
}

int link(const char *from, const char *to) {
  NEXT(int, "link", const char *, const char *);
  int fault = fault_of_path("link", AT_FDCWD, to);
  if (fault) FAIL(fault);
  return next(from, to);
}

int linkat(int from_handle, const char *from, int to_handle, const char *to, int flags) {
  NEXT(int, "linkat", int, const char *, int, const char *, int);
  int fault = fault_of_path("link", to_handle, to);
  if (fault) FAIL(fault);
  return next(from_handle, from, to_handle, to, flags);
}

int unlink(const char *path) {
  NEXT(int, "unlink", const char *);
  int fault = fault_of_path("unlink", AT_FDCWD, path);
  if (fault) FAIL(fault);
  return next(path);
}

int unlinkat(int folder_handle, const char *path, int flags) {
  NEXT(int, "unlinkat", int, const char *, int);
  int fault = fault_of_path("unlink", folder_handle, path);
  if (fault) FAIL(fault);
  return next(folder_handle, path, flags);
}

int mkdir(const char *path, mode_t mode) {
  NEXT(int, "mkdir", const char *, mode_t);
  int fault = fault_of_path("mkdir", AT_FDCWD, path);
  if (fault) FAIL(fault);
  return next(path, mode);
}
